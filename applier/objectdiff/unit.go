package objectdiff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
)

// unit is a set of objects that get a new name together: those of a graph that is removed or
// added as a whole, or a single object.
type unit struct {
	// class has the units that can be the same one under two names.
	class string
	// graph is the name of the graph, or "" for a single object.
	graph string
	// made is set if a module made the objects.
	made    bool
	objects []*ObjectDiff
	facts   []unitFact
	// texts and nameless have the facts in both forms.
	texts, nameless map[string]bool
}

// unitFact is a fact of an object in a unit.
type unitFact struct {
	fact
	// identifies is set for facts that tell applications apart, such as images, rather than
	// describe the way in which they run.
	identifies bool
}

// unitsOf returns the units of the removed or of the added objects of a diff, in its order.
func unitsOf(d *Diff, action Action) []*unit {
	whole := map[string]*unit{}
	for i := range d.Objects {
		if o := &d.Objects[i]; o.Action == action && o.isGraph() {
			whole[o.name()] = nil
		}
	}
	var all []*unit
	for i := range d.Objects {
		o := &d.Objects[i]
		if o.Action != action || o.isGraph() {
			continue
		}
		object := o.object()
		u, isWhole := whole[object.graph]
		if u == nil {
			u = newUnit(object, isWhole)
			all = append(all, u)
			if isWhole {
				whole[object.graph] = u
			}
		}
		u.objects = append(u.objects, o)
		u.add(object)
	}
	return all
}

// isGraph reports whether the object is a graph. Its nodes are objects of their own.
func (k Key) isGraph() bool { return k.Kind == "ResourceGraph" }

// newUnit returns an empty unit that o belongs to.
func newUnit(o *Object, whole bool) *unit {
	u := &unit{class: classOf(o, whole), made: o.source != Key{}, texts: map[string]bool{}, nameless: map[string]bool{}}
	if whole {
		u.graph = o.graph
	}
	return u
}

// classOf returns the class of an object's unit. Only instances of one kind are renamed into
// each other, and so are only objects of one kind.
func classOf(o *Object, whole bool) string {
	maker := o.source.Kind + "." + o.source.Group
	if whole {
		return maker
	}
	return maker + "\x00" + o.Kind + "." + o.Group
}

// add adds the facts of an object.
func (u *unit) add(o *Object) {
	_, known := graph.ClusterScoped(schema.GroupKind{Group: o.Group, Kind: o.Kind})
	for _, f := range o.facts() {
		path, value, _ := strings.Cut(f.text, "=")
		if isImage(path) {
			// An image is another program, even if it has the name of the application.
			f.text = path + "=" + withoutTag(value)
			f.nameless = f.text
		} else {
			f.nameless = replaceWord(f.nameless, o.source.Name, "\x00")
		}
		f.text, f.nameless = o.Kind+f.text, o.Kind+f.nameless
		if u.texts[f.text] {
			continue
		}
		u.texts[f.text], u.nameless[f.nameless] = true, true
		u.facts = append(u.facts, unitFact{f, identifies(path, known)})
	}
}

// isImage reports whether a path of facts is that of a container's image.
func isImage(path string) bool {
	return strings.HasSuffix(path, "ontainers[].image")
}

// withoutTag returns a quoted image without its tag and digest, which change with every
// release.
func withoutTag(image string) string {
	image = strings.Trim(image, `"`)
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	return image
}

// identifies reports whether facts at a path tell applications apart. Of kinds that Kubernetes
// doesn't define, every setting may.
func identifies(path string, builtin bool) bool {
	switch {
	case isImage(path), strings.HasPrefix(path, ".data."), strings.HasPrefix(path, ".stringData."), strings.HasPrefix(path, ".binaryData."):
		return true
	case strings.HasSuffix(path, ".host"), strings.HasSuffix(path, ".hosts[]"), strings.HasSuffix(path, ".hostnames[]"):
		return true
	case strings.HasSuffix(path, "ontainers[].command[]"), strings.HasSuffix(path, "ontainers[].args[]"), strings.HasSuffix(path, "ontainers[].env[].value"):
		return true
	}
	return !builtin && !strings.HasPrefix(path, ".labels.") && !strings.HasPrefix(path, ".annotations.")
}

// hasQuantities reports whether the API server stores the quantities of a kind in one form.
// Those of definitions are text.
func hasQuantities(k Key) bool {
	_, known := graph.ClusterScoped(schema.GroupKind{Group: k.Group, Kind: k.Kind})
	return known && k.Kind != "CustomResourceDefinition"
}

// isQuantity reports whether a path of a built-in kind leads to a quantity: see the fields of
// the type resource.Quantity in k8s.io/api.
func isQuantity(keys []string) bool {
	n := len(keys)
	return n > 0 && slices.Contains([]string{"sizeLimit", "divisor", "averageValue"}, keys[n-1]) ||
		n > 1 && slices.Contains([]string{
			"requests", "limits", "capacity", "hard", "podFixed",
			"default", "defaultRequest", "max", "min", "maxLimitRequestRatio",
		}, keys[n-2])
}

// sameQuantity reports whether two values are the same quantity, such as 1000m and 1.
func sameQuantity(a, b any) bool {
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}
