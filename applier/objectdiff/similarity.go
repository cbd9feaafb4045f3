package objectdiff

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// fact is one scalar of an object as text, with its path but without list
// indexes. nameless is the same text without the name of the object, which often
// is part of labels and references.
//
// A Deployment web has, among others, the fact .spec.replicas=2 and the fact
// .spec.selector.matchLabels.app="web". The nameless form of the second one is
// equal for every Deployment that labels its Pods with its own name.
type fact struct{ text, nameless string }

// facts returns the scalars of an object that identify its content. Of the
// metadata, only labels and annotations count. The kind does not, since only
// objects of one kind are compared.
func (o *Object) facts() []fact {
	body := map[string]any{}
	for k, v := range o.body {
		switch k {
		case "apiVersion", "kind":
		case "metadata":
			body["labels"], body["annotations"] = jsonvalue.Field(o.body, k, "labels"), jsonvalue.Field(o.body, k, "annotations")
		default:
			body[k] = v
		}
	}
	return factsOf(o.Name, body)
}

// factsOf returns the scalars of v. name may be empty.
func factsOf(name string, v any) []fact {
	var all []fact
	var walk func(p string, v any)
	walk = func(p string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				walk(p+"."+k, item)
			}
		case []any:
			for _, item := range v { // without indexes, so that order does not matter
				walk(p+"[]", item)
			}
		case nil:
		default:
			text := p + "=" + scalarText(v)
			all = append(all, fact{text, replaceWord(text, name, "\x00")})
		}
	}
	walk("", v)
	return all
}

// scalarText returns a scalar as text that differs for different values. It contains
// the values of secrets, so it must not be printed.
func scalarText(v any) string {
	switch v := v.(type) {
	case secret:
		return "secret " + v.value
	case late:
		return "late " + v.key + v.expr
	}
	return fmt.Sprintf("%#v", v)
}

// similarity returns the share of facts that both sides have, from 0 to 1. It is
// 0 if there are no facts. It is symmetric: the shared facts of both sides are
// added, and divided by the number of all facts.
func similarity(a, b []fact) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	return float64(shared(a, b)+shared(b, a)) / float64(len(a)+len(b))
}

// shared counts the facts of a that b has too, with or without the names of the
// objects.
func shared(a, b []fact) int {
	texts, nameless := map[string]bool{}, map[string]bool{}
	for _, f := range b {
		texts[f.text], nameless[f.nameless] = true, true
	}
	n := 0
	for _, f := range a {
		if texts[f.text] || nameless[f.nameless] {
			n++
		}
	}
	return n
}

// replaceWord replaces every occurrence of a name that is not part of a longer word.
// A dash ends a word, so web is replaced in web-config.
func replaceWord(s, name, by string) string {
	if name == "" {
		return s
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(s[at:], name)
		if i < 0 {
			b.WriteString(s[at:])
			return b.String()
		}
		i += at
		end := i + len(name)
		if i > 0 && isWordByte(s[i-1]) || end < len(s) && isWordByte(s[end]) {
			b.WriteString(s[at : i+1])
			at = i + 1
			continue
		}
		b.WriteString(s[at:i] + by)
		at = end
	}
}

// isWordByte reports whether c is a letter or digit.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
