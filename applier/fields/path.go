package fields

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Path names a field by the keys of FieldsV1, outermost first: "f:spec",
// "f:replicas". A key has one of four forms:
//
//   - f:NAME names a field of a map
//   - k:{"NAME":VALUE} names an item of a list by its identifying fields
//   - v:VALUE names an item of a set by its value
//   - i:INDEX names an item of a list by its position, counted from 0
//
// NAME is taken literally; VALUE is JSON.
type Path []string

// String returns the path as the API server's conflict messages write it,
// without the leading dot: spec.containers[name="web"].image.
func (p Path) String() string {
	var b strings.Builder
	for _, key := range p {
		kind, rest, _ := strings.Cut(key, ":")
		switch kind {
		case "k":
			b.WriteString("[" + identityText(rest) + "]")
		case "v":
			b.WriteString("[=" + rest + "]")
		case "i":
			b.WriteString("[" + rest + "]")
		default:
			if isPlainName(rest) {
				b.WriteString("." + rest)
			} else {
				b.WriteString("[" + strconv.Quote(rest) + "]")
			}
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// identityText returns the text between the brackets for an item that is named
// by its fields: name=web for a single field, the JSON for several fields.
func identityText(text string) string {
	var identity map[string]any
	if json.Unmarshal([]byte(text), &identity) != nil || len(identity) != 1 {
		return text
	}
	for name, value := range identity {
		return fmt.Sprintf("%s=%v", name, value)
	}
	return ""
}

// isPlainName reports whether a field name can follow a dot without quotes.
func isPlainName(name string) bool {
	return name != "" && !strings.ContainsAny(name, `.[]"/ `)
}

// Parse reads a path as authors write it in ignoreFields: spec.replicas,
// metadata.annotations["a.b/c"], spec.template.spec.containers[name=web].image,
// webhooks[0].clientConfig.caBundle; or a JSON pointer, /spec/replicas.
//
// A path that is returned without an error has at least one key. Errors quote
// the text.
func Parse(text string) (Path, error) {
	if strings.HasPrefix(text, "/") {
		return parsePointer(text)
	}
	var p Path
	rest := strings.TrimPrefix(text, ".")
	for first := true; rest != "" || first; first = false {
		if strings.HasPrefix(rest, "[") {
			key, after, err := parseBracket(rest)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", text, err)
			}
			if p = append(p, key); after != "" && (after[0] != '.' && after[0] != '[' || after == ".") {
				return nil, fmt.Errorf("field %q: a bracket is followed by %q", text, after)
			}
			rest = strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return nil, fmt.Errorf("field %q: has an empty name", text)
		}
		p = append(p, "f:"+rest[:end])
		if rest = rest[end:]; strings.HasPrefix(rest, ".") {
			if rest = rest[1:]; rest == "" {
				return nil, fmt.Errorf("field %q: has an empty name", text)
			}
		}
	}
	return p, nil
}

// parseBracket reads the bracket at the start of text, which has the form
// ["name"], [name=value] or [0]. It returns the FieldsV1 key of the bracket and
// the text after it.
func parseBracket(text string) (key, after string, err error) {
	if strings.HasPrefix(text, `["`) {
		quoted, err := strconv.QuotedPrefix(text[1:])
		if err != nil || !strings.HasPrefix(text[1+len(quoted):], "]") {
			return "", "", fmt.Errorf("a quoted name isn't closed")
		}
		name, err := strconv.Unquote(quoted)
		return "f:" + name, text[len(quoted)+2:], err
	}
	inside, after, ok := strings.Cut(text[1:], "]")
	if !ok {
		return "", "", fmt.Errorf("a bracket isn't closed")
	}
	if name, value, ok := strings.Cut(inside, "="); ok && name != "" {
		raw, err := json.Marshal(map[string]any{name: scalar(value)})
		return "k:" + string(raw), after, err
	}
	i, err := strconv.ParseUint(inside, 10, 31)
	if err != nil {
		return "", "", fmt.Errorf("[%s] is neither an index nor name=value", inside)
	}
	return "i:" + strconv.FormatUint(i, 10), after, nil
}

// scalar returns the value in [name=value]: a whole number, a quoted string, or
// else the text itself. Quotes make a string of digits: [name="80"].
func scalar(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if s, err := strconv.Unquote(text); err == nil {
		return s
	}
	return text
}

// parsePointer reads a JSON pointer (RFC 6901). A token of digits becomes an
// index; [fieldName] resolves it as a field name if the value is a map.
func parsePointer(text string) (Path, error) {
	var p Path
	for _, token := range strings.Split(text[1:], "/") {
		if token == "" {
			return nil, fmt.Errorf("field %q: has an empty name", text)
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			p = append(p, "i:"+token)
		} else {
			p = append(p, "f:"+token)
		}
	}
	return p, nil
}
