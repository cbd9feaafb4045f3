package resolve

import (
	"crypto/rand"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/reference"
)

// Generate replaces every {$generate} in an object by a new random value. All
// characters of a set are equally likely.
func Generate(object *unstructured.Unstructured, generates []reference.Generate) error {
	for _, g := range generates {
		charset := reference.Characters(g.Charset)
		if charset == "" || g.Length < 1 || g.Length > reference.MaxGenerated {
			return fmt.Errorf("%s: can't generate %d characters of set %q", g.Path, g.Length, g.Charset)
		}
		replace(object.Object, g.Path, randomText(charset, g.Length))
	}
	return nil
}

// randomText returns length random characters of a set. It rejects the bytes above
// the largest multiple of the set's size, which would make the first characters of
// the set more likely.
func randomText(charset string, length int) string {
	limit := 256 - 256%len(charset)
	out := make([]byte, 0, length)
	buffer := make([]byte, length+length/4+8)
	for len(out) < length {
		rand.Read(buffer) // never returns an error: the program crashes instead
		for _, b := range buffer {
			if int(b) < limit && len(out) < length {
				out = append(out, charset[int(b)%len(charset)])
			}
		}
	}
	return string(out)
}
