package reference

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Path leads from an object to a value inside it: a string is the key of a
// map, an int the index of a list.
type Path []any

var plainKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_$][-A-Za-z0-9_]*$`)
})

// String writes the path as kubectl's users do: spec.ports[0].port, and
// metadata.annotations["a.b/c"] for keys that would be misread.
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case !plainKey().MatchString(step):
				b.WriteString("[" + strconv.Quote(step) + "]")
			case b.Len() > 0:
				b.WriteString("." + step)
			default:
				b.WriteString(step)
			}
		}
	}
	return b.String()
}

// Is says whether the path consists of these map keys and nothing else.
func (p Path) Is(keys ...string) bool {
	if len(p) != len(keys) {
		return false
	}
	for i, key := range keys {
		if p[i] != key {
			return false
		}
	}
	return true
}

// compare orders paths of one value as they would be printed with sorted keys.
func (p Path) compare(q Path) int {
	for i := range min(len(p), len(q)) {
		c := 0
		switch step := p[i].(type) {
		case int:
			other, _ := q[i].(int)
			c = cmp.Compare(step, other)
		case string:
			other, _ := q[i].(string)
			c = cmp.Compare(step, other)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(q))
}
