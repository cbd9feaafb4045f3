package objectdiff

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// canonical returns a value as text. Two texts are equal if and only if the values
// are; 1 and 1.0 are equal. The text contains the values of secrets, so it must not
// be printed.
func canonical(v any) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

// writeCanonical writes v with map keys sorted. Every type has a form of its own, so
// that the string "1" differs from the number 1, and a secret from its value.
func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	// A whole number has one form, whether it was decoded as an integer or as a
	// float.
	case float64:
		if i := int64(v); float64(i) == v {
			b.WriteString(strconv.FormatInt(i, 10))
			return
		}
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		b.WriteString(strconv.Quote(v))
	case secret:
		b.WriteString("secret " + strconv.Quote(v.value))
	case late:
		b.WriteString("late " + v.key + strconv.Quote(v.expr))
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeCanonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k) + ":")
			writeCanonical(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// equal reports whether two values are equal. It is faster than comparing
// canonical texts, and most values of two sides are equal. It agrees with
// canonical: numbers are compared by value, everything else by type and value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k, v := range a {
			w, ok := m[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, equal)
	case float64, int64:
		return canonical(a) == canonical(b)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
