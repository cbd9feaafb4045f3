package input

import (
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/review"
)

// DocumentUnits returns the units of a document for a review: a ResourceGraph, or the objects
// of a manifest. file is the name of the file in the output.
func DocumentUnits(doc yamlfile.Document, file string) ([]review.Unit, error) {
	rg, err := documentGraph(doc)
	if err != nil {
		return nil, err
	}
	objects, err := DocumentObjects(doc, file)
	if err != nil {
		return nil, err
	}
	if rg != nil {
		u := Graph{ResourceGraph: rg, Pos: doc.PosOf(nil)}.Unit()
		u.File, u.Objects = file, objects
		return []review.Unit{u}, nil
	}
	var all []review.Unit
	for i, o := range objects {
		all = append(all, review.Unit{
			Instance: objectdiff.Instance{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, File: file},
			APIGroup: o.Group, At: doc.PosOf(nil), Objects: objects[i : i+1],
		})
	}
	return all, nil
}

// Unit returns the graph for a review: with the names of its instance if it was rendered, and
// otherwise with its own.
func (g Graph) Unit() review.Unit {
	in := objectdiff.Instance{Kind: "ResourceGraph", Namespace: g.Namespace, Name: g.Name, File: g.Pos.File, Graph: g.Name}
	group := v1alpha1.GroupVersion.Group
	if from := g.Spec.SourceRef; g.Rendered {
		in.Kind, in.Namespace, in.Name = from.Kind, from.Namespace, from.Name
		group, _, _ = strings.Cut(from.APIVersion, "/")
	}
	return review.Unit{Instance: in, APIGroup: group, At: g.Pos, Graph: g.ResourceGraph}
}
