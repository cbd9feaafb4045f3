package resolve

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/reference"
)

// Preview is an object of which not everything is known yet.
type Preview struct {
	// Object holds what is known. No placeholder stands for the rest.
	Object *unstructured.Unstructured
	// Unknown lists what is left out of Object, in the order of the paths. Of a
	// list that has an element that isn't known, the whole list is unknown:
	// without the element its others would stand at other indexes.
	Unknown []Unknown
}

// Unknown is a part of an object that is known after the apply.
type Unknown struct {
	Path reference.Path
	// Why says what it waits for, or that it is generated.
	Why string
}

// Preview returns what is known of the object of node i before it is applied.
// The error is an *[EvalError] if a reference can't be resolved.
func (r *Resolver) Preview(i int, live Lookup) (Preview, error) {
	n := &r.graph.Nodes[i]
	object, err := decode(n)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Object: object}
	// What is unknown is taken out first: its paths end in keys of maps, so that
	// no element moves. Values then go in backwards, as in Object.
	values := make([]any, len(n.References))
	known := make([]bool, len(n.References))
	for k, late := range n.References {
		values[k], err = r.value(late, nodePlace(n, late.Path), live)
		var wait *WaitError
		switch {
		case err == nil:
			known[k] = true
		case errors.As(err, &wait):
			p.unknown(late.Path, wait.Message)
		default:
			return Preview{}, err
		}
	}
	for _, generate := range n.Generates {
		p.unknown(generate.Path, "is generated when the object is created")
	}
	for _, unknown := range p.Unknown {
		replace(object.Object, unknown.Path, reference.Omitted{})
	}
	for k, late := range slices.Backward(n.References) {
		if known[k] && !p.covers(late.Path) {
			replace(object.Object, late.Path, values[k])
		}
	}
	slices.SortStableFunc(p.Unknown, func(a, b Unknown) int { return strings.Compare(a.Path.String(), b.Path.String()) })
	return p, nil
}

// unknown notes a path, shortened to the key of a map, unless it is part of
// what was noted before.
func (p *Preview) unknown(path reference.Path, why string) {
	for len(path) > 0 {
		if _, isKey := path[len(path)-1].(string); isKey {
			break
		}
		path = path[:len(path)-1]
	}
	if p.covers(path) {
		return
	}
	p.Unknown = slices.DeleteFunc(p.Unknown, func(u Unknown) bool { return begins(u.Path, path) })
	p.Unknown = append(p.Unknown, Unknown{Path: path, Why: why})
}

func (p *Preview) covers(path reference.Path) bool {
	return slices.ContainsFunc(p.Unknown, func(u Unknown) bool { return begins(path, u.Path) })
}

// begins says whether path is prefix or lies inside of it.
func begins(path, prefix reference.Path) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}
