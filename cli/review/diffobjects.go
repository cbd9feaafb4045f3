package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// readObjects reads the objects of a file, directory, git revision or bundle. Every
// document must be an object, and each object must be there once. A skipped one would
// look like an unchanged one, so anything else is an error.
func (o *diffOptions) readObjects(ctx context.Context, arg string) ([]objectdiff.Object, error) {
	files, err := o.readTree(ctx, arg)
	if err != nil {
		return nil, err
	}
	var all []objectdiff.Object
	var problems problem.List
	// first has the position of the first object of each key.
	first := map[objectdiff.Key]problem.Position{}
	for _, file := range files {
		docs, err := yamlfile.Parse(file.Name, file.Data)
		if err != nil {
			var ps problem.List
			if !errors.As(err, &ps) {
				return nil, err
			}
			problems = append(problems, ps...)
			continue
		}
		for _, doc := range docs {
			objects, err := documentObjects(doc, file.Name)
			if err != nil {
				problems = append(problems, input.ProblemsOf(err)...)
				continue
			}
			for _, obj := range objects {
				if at, ok := first[obj.Key]; ok {
					problems = append(problems, problem.Problem{
						Position: doc.PosOf(nil), Rule: problem.RuleDuplicate,
						Message: fmt.Sprintf("%s stands at %s already", obj, at),
					})
					continue
				}
				first[obj.Key] = doc.PosOf(nil)
				all = append(all, obj)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}

// documentObjects returns the objects of one document: those of a ResourceGraph's
// nodes, or the manifest itself. file is the name of the file in the output. A
// ResourceGraph is checked first, because an invalid one has no certain objects.
func documentObjects(doc yamlfile.Document, file string) ([]objectdiff.Object, error) {
	gv, kind := doc.Text("apiVersion"), doc.Text("kind")
	if gv == v1alpha1.GroupVersion.String() && kind == "ResourceGraph" {
		rg := &v1alpha1.ResourceGraph{}
		if err := doc.Decode(rg); err != nil {
			return nil, err
		}
		if found := graph.Read(rg).Problems(); len(found) > 0 {
			return nil, input.GraphProblems(found, doc.PosOf(nil), "")
		}
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
