package reference

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Path is the path from an object to a value in it. A string is a key of a map, and an
// int an index of a list.
type Path []any

// plainKey matches the keys that are written without quotes.
var plainKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_$][-A-Za-z0-9_]*$`)
})

// String formats the path as in spec.ports[0].port, and as in
// metadata.annotations["a.b/c"] for keys that would be ambiguous.
func (p Path) String() string {
	var b strings.Builder
	for _, element := range p {
		switch element := element.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(element) + "]")
		case string:
			switch {
			case !plainKey().MatchString(element):
				b.WriteString("[" + strconv.Quote(element) + "]")
			case b.Len() > 0:
				b.WriteString("." + element)
			default:
				b.WriteString(element)
			}
		}
	}
	return b.String()
}

// Is reports whether the path consists of exactly these map keys. A path with an
// index in it is never equal.
func (p Path) Is(keys ...string) bool {
	return slices.EqualFunc(p, keys, func(element any, key string) bool { return element == key })
}

// compare orders the paths of one value as the value is printed with sorted keys.
// A path comes before the paths below it. Two paths of one value never have a key
// and an index at the same place, so the types of their elements agree up to the
// first difference.
func (p Path) compare(q Path) int {
	return slices.CompareFunc(p, q, func(a, b any) int {
		if index, ok := a.(int); ok {
			other, _ := b.(int)
			return cmp.Compare(index, other)
		}
		key, _ := a.(string)
		other, _ := b.(string)
		return cmp.Compare(key, other)
	})
}
