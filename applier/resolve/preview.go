package resolve

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/reference"
)

// Preview is an object some of whose values aren't known yet.
type Preview struct {
	// Object has the known values. Unknown values are left out without a
	// placeholder.
	Object *unstructured.Unstructured
	// Unknown lists the values that are left out, sorted by path. If an element of
	// a list isn't known, the whole list is left out: without the element, the
	// others would have different indexes.
	Unknown []Unknown
}

// Unknown is a value that is known only after the apply.
type Unknown struct {
	Path reference.Path
	// Why is the reason: the missing value that it waits for, or its generation.
	Why string
}

// Preview returns what is known of the object of node i before it is applied. The
// error is an *[EvalError] if a reference can't be resolved.
func (r *Resolver) Preview(i int, live Lookup) (Preview, error) {
	n := &r.graph.Nodes[i]
	object, err := decode(n)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Object: object}
	values := make([]any, len(n.References))
	known := make([]bool, len(n.References))
	for k, late := range n.References {
		values[k], err = r.evaluate(late, positionInNode(n, late.Path), live)
		var wait *WaitError
		switch {
		case err == nil:
			known[k] = true
		case errors.As(err, &wait):
			p.addUnknown(late.Path, wait.Message)
		default:
			return Preview{}, err
		}
	}
	for _, generate := range n.Generates {
		p.addUnknown(generate.Path, "is generated when the object is created")
	}
	// Unknown values are removed first. Their paths end in map keys, so this moves
	// no list element. Known values are set backward, as in Object.
	for _, unknown := range p.Unknown {
		replace(object.Object, unknown.Path, reference.Omitted{})
	}
	for k, late := range slices.Backward(n.References) {
		if known[k] && !p.covers(late.Path) {
			replace(object.Object, late.Path, ownCopy(values[k]))
		}
	}
	slices.SortStableFunc(p.Unknown, func(a, b Unknown) int { return strings.Compare(a.Path.String(), b.Path.String()) })
	return p, nil
}

// addUnknown records an unknown value. It shortens the path until it ends in a map
// key, so that it never ends in a list element, and replaces recorded values below
// the path.
func (p *Preview) addUnknown(path reference.Path, why string) {
	for len(path) > 0 {
		if _, isKey := path[len(path)-1].(string); isKey {
			break
		}
		path = path[:len(path)-1]
	}
	if p.covers(path) {
		return
	}
	p.Unknown = slices.DeleteFunc(p.Unknown, func(u Unknown) bool { return hasPrefix(u.Path, path) })
	p.Unknown = append(p.Unknown, Unknown{Path: path, Why: why})
}

// covers reports whether a path is, or is part of, a recorded unknown value.
func (p *Preview) covers(path reference.Path) bool {
	return slices.ContainsFunc(p.Unknown, func(u Unknown) bool { return hasPrefix(path, u.Path) })
}

// hasPrefix reports whether a path equals prefix or leads further down from it.
func hasPrefix(path, prefix reference.Path) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}
