package resolve

import (
	"crypto/rand"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/reference"
)

// Generate draws the values that stand as {$generate} in object, and puts them
// there. Every character of a set is as likely as any other.
func Generate(object *unstructured.Unstructured, generates []reference.Generate) error {
	for _, g := range generates {
		charset := reference.Characters(g.Charset)
		if charset == "" || g.Length < 1 || g.Length > reference.MaxGenerated {
			return fmt.Errorf("%s: can't generate %d characters of set %q", g.Path, g.Length, g.Charset)
		}
		replace(object.Object, g.Path, random(charset, g.Length))
	}
	return nil
}

// random throws bytes away that would make the first characters more likely.
func random(charset string, length int) string {
	limit := 256 - 256%len(charset)
	out := make([]byte, 0, length)
	buffer := make([]byte, length+length/4+8)
	for len(out) < length {
		rand.Read(buffer) // never fails: it ends the program instead
		for _, b := range buffer {
			if int(b) < limit && len(out) < length {
				out = append(out, charset[int(b)%len(charset)])
			}
		}
	}
	return string(out)
}
