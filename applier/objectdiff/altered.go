package objectdiff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// Altered returns the fields that o changes and that have another value in the result of a dry
// run: an admission webhook or the API server sets them. Fields that the result only adds or
// moves are not among them, and neither are those that the node leaves to others.
func (o *ObjectDiff) Altered(result *Object) []Change {
	if o.new == nil || result == nil || jsonvalue.Field(o.new.node, "applyPolicy", "ignoreFields") != nil {
		return nil
	}
	var c comparer
	c.maps(nil, o.new.body, result.body)
	return slices.DeleteFunc(c.changes, func(found Change) bool {
		return found.Action != Modify || !o.sets(found.Path) || sameScalar(found.old, found.new)
	})
}

// sets reports whether the change adds or changes the field at a path.
func (o *ObjectDiff) sets(p Path) bool {
	if o.Action == Add {
		return true
	}
	text := p.String()
	return slices.ContainsFunc(o.Changes, func(c Change) bool {
		rest, ok := strings.CutPrefix(text, c.Path.String())
		return ok && c.Action != Remove && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// sameScalar reports whether the API server may write one value for the other: equal quantities,
// or a value that is known only after the apply. Values that are no scalars can't be compared.
func sameScalar(a, b any) bool {
	for _, v := range []any{a, b} {
		switch v.(type) {
		case map[string]any, []any, late:
			return true
		case secret: // differs, and must not be formatted
			return false
		}
	}
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}
