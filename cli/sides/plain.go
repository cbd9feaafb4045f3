package sides

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/review"
)

// isPlain reports whether a document without a platform is an object as it is, and no
// instance of a module that only the other side can load. kinds are those with platforms on
// either side. Where a platform can't be loaded, only kinds of Kubernetes are certain.
func (s *Side) isPlain(id *identity, kinds []string) bool {
	if slices.Contains(kinds, id.groupKind()) {
		return false
	}
	_, builtin := graph.ClusterScoped(schema.GroupKind{Group: id.group, Kind: id.kind})
	return builtin || id.isGraph() || s.cause() == nil
}

// MissSubmodules records the submodules of the side that head has instances in: the checkout
// lacks their files, so an instance there is unknown and not new. Both need their units.
func (s *Side) MissSubmodules(head *Side) {
	for _, path := range s.Checkout.submodules {
		if !slices.ContainsFunc(head.Units, func(u review.Unit) bool { return strings.HasPrefix(u.Path, path+"/") }) {
			continue
		}
		s.Failures = append(s.Failures, review.Failure{Subject: "submodule " + path, Path: path, Problems: problem.List{{
			Rule: problem.RuleUnchecked, Message: "the files of a submodule are not part of the commit",
		}}})
	}
}

// plainFiles reads the plain documents of a side. Each file is read once.
type plainFiles struct {
	side *Side
	read map[string]map[place]review.Unit
}

// unit returns the unit of a plain document, or nil if it is no document of its own, such as
// an item of a List.
func (p *plainFiles) unit(ctx context.Context, file string, id *identity) (*review.Unit, error) {
	units, ok := p.read[file]
	if !ok {
		data, err := files.ReadFile(ctx, file)
		if err != nil {
			return nil, err
		}
		units = p.parse(file, data)
		p.read[file] = units
	}
	u, ok := units[p.side.placeOf(file, id.at, "")]
	if !ok {
		return nil, nil
	}
	u.Cluster = id.cluster
	return &u, nil
}

// graph returns the graph of a document, in the namespace of an apply. It is nil if the document
// has problems.
func (p *plainFiles) graph(doc yamlfile.Document, err error) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	if err != nil || doc.Decode(rg) != nil {
		return nil
	}
	rg.Namespace = cmp.Or(rg.Namespace, p.side.flags.Namespace)
	return rg
}

// parse returns the documents of a file that are objects or graphs, by their places. One
// that is neither is a unit with problems.
func (p *plainFiles) parse(file string, data []byte) map[place]review.Unit {
	found := map[place]review.Unit{}
	c := p.side.Checkout
	path := c.Relative(file)
	for doc, ps := range yamlfile.Objects(file, data) {
		if ps != nil {
			continue
		}
		in, _ := render.InstanceOf(doc)
		if in == nil {
			continue
		}
		id := identityOf(in)
		where := p.side.placeOf(file, id.at, "")
		at := id.at
		at.File = c.Shown(at.File)
		u := review.Unit{
			Instance: objectdiff.Instance{Kind: in.Kind, Namespace: in.Namespace, Name: in.Name, File: c.Shown(file)},
			APIGroup: in.Group(), Path: path, At: at,
		}
		var err error
		if u.Objects, err = input.DocumentObjects(doc, ""); err != nil {
			u.Problems = c.problems(input.ProblemsOf(err))
		}
		if id.isGraph() {
			u.Instance.Graph = in.Name
			if u.Graph = p.graph(doc, err); u.Graph != nil {
				u.Objects = nil // those of the graph have its namespace
			}
		}
		found[where] = u
	}
	return found
}
