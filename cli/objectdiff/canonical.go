package objectdiff

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// canonical returns a value as text. Two texts are equal if and only if the values
// are. The text contains the values of secrets, so it must not be printed.
func canonical(v any) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

// writeCanonical writes v with map keys sorted. Every type has a form of its own, so
// that the string "1" differs from the number 1, and a secret from its value.
func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
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
	default: // null, booleans and numbers
		fmt.Fprint(b, v)
	}
}
