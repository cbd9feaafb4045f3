package input

import (
	"encoding/json"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// DocumentObjects returns the objects of one document: those of a ResourceGraph's
// nodes, or the manifest itself. file is the name of the file in the output. A
// ResourceGraph is checked first, because an invalid one has no certain objects.
func DocumentObjects(doc yamlfile.Document, file string) ([]objectdiff.Object, error) {
	rg, err := documentGraph(doc)
	if err != nil {
		return nil, err
	}
	if rg != nil {
		objects, err := objectdiff.FromGraph(rg, file)
		if err != nil {
			return nil, doc.Problem(err)
		}
		return objects, nil
	}
	// Kubernetes' own decoder keeps integers as int64, which encoding/json would
	// turn into float64.
	var raw json.RawMessage
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	var v any
	if err := utiljson.Unmarshal(raw, &v); err != nil {
		return nil, doc.Problem(err)
	}
	manifest, _ := v.(map[string]any)
	objects, err := objectdiff.FromManifest(manifest, file)
	if err != nil {
		return nil, doc.Problem(err)
	}
	return objects, nil
}

// documentGraph returns the valid ResourceGraph of a document, or nil for a document of
// another kind.
func documentGraph(doc yamlfile.Document) (*v1alpha1.ResourceGraph, error) {
	if doc.Text("apiVersion") != v1alpha1.GroupVersion.String() || doc.Text("kind") != "ResourceGraph" {
		return nil, nil
	}
	rg := &v1alpha1.ResourceGraph{}
	if err := doc.Decode(rg); err != nil {
		return nil, err
	}
	if found := graph.Read(rg).Problems(); len(found) > 0 {
		return nil, GraphProblems(found, doc.PosOf(nil), "")
	}
	return rg, nil
}
