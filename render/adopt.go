package render

import (
	"encoding/json"
	"slices"

	"cuelang.org/go/cue"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// The fields of #Render.output.adopt and of its labelSelector.
var (
	adoptFields    = []string{"mode", "strategy", "resources", "labelSelector"}
	selectorFields = []string{"matchLabels", "matchExpressions"}
)

// adopt reads the existing objects that the graph may take over. It has the form of
// spec.adopt of a ResourceGraph.
func (d *decoder) adopt(v cue.Value) *v1alpha1.Adopt {
	const path = "adopt"
	a := &v1alpha1.Adopt{}
	d.fields(v, path, adoptFields, func(name string, v cue.Value) {
		at := fieldpath.Join(path, name)
		switch name {
		case "mode":
			a.Mode = v1alpha1.AdoptMode(d.string(v, at))
		case "strategy":
			a.Strategy = v1alpha1.AdoptStrategy(d.string(v, at))
		case "resources":
			d.list(v, at, func(at string, v cue.Value) {
				var ref v1alpha1.ObjectRef
				d.decodeInto(v, at, externalRefFields, &ref)
				a.Resources = append(a.Resources, ref)
			})
		case "labelSelector":
			a.LabelSelector = &metav1.LabelSelector{}
			d.decodeInto(v, at, selectorFields, a.LabelSelector)
		}
	})
	return a
}

// adoptsAll reports whether an annotation of the instance makes its graph adopt all objects
// that exist.
func (in *Instance) adoptsAll() bool {
	f := cuesyntax.Field(in.annotations, v1alpha1.AnnotationAdopt)
	if f == nil {
		return false
	}
	value, _ := cuesyntax.Text(f.Value)
	return value == "true"
}

// adoptAll adds the objects of all nodes to those that a graph may take over, in the order of
// the nodes.
func adoptAll(rg *v1alpha1.ResourceGraph) error {
	if rg.Spec.Adopt == nil {
		rg.Spec.Adopt = &v1alpha1.Adopt{}
	}
	a := rg.Spec.Adopt
	for _, n := range rg.Spec.Graph.Nodes {
		if n.Resource == nil {
			continue
		}
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(n.Resource.Raw, &object); err != nil {
			return err
		}
		ref := v1alpha1.ObjectRef{APIVersion: object.APIVersion, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name}
		if !slices.Contains(a.Resources, ref) {
			a.Resources = append(a.Resources, ref)
		}
	}
	return nil
}
