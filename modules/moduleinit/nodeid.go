package moduleinit

import (
	"fmt"
	"strings"
	"unicode"
)

// maxNodeID is the maximum length of an id, in bytes. A graph allows 63; the rest is
// for the number that makes an id unique.
const maxNodeID = 59

// newID returns the id of an object's node, in camelCase, so that CEL expressions
// can name the node: Deployment shop-web becomes deploymentShopWeb. Objects whose
// ids would be the same get their namespaces appended, or a number.
func (m *Manifests) newID(o identity) string {
	base := lowerFirst(o.kind) + camel(o.name)
	if m.ids[clip(base)] {
		base += camel(o.namespace)
	}
	base = clip(base)
	id := base
	for n := 2; m.ids[id]; n++ {
		id = fmt.Sprintf("%s%d", base, n)
	}
	m.ids[id] = true
	return id
}

// clip returns the first maxNodeID bytes of an id.
func clip(id string) string { return id[:min(len(id), maxNodeID)] }

// camel joins the words of a name in CamelCase. All characters but ASCII letters and
// digits separate words.
func camel(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// lowerFirst returns a kind with its first word in lower case: configMap, httpRoute.
func lowerFirst(kind string) string {
	kind = camel(kind)
	n := 1
	for n < len(kind) && unicode.IsUpper(rune(kind[n])) && (n+1 == len(kind) || unicode.IsUpper(rune(kind[n+1]))) {
		n++
	}
	n = min(n, len(kind))
	return strings.ToLower(kind[:n]) + kind[n:]
}
