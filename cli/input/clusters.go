package input

import (
	"context"
	"iter"
	"slices"
	"sync"

	"cuelang.org/go/cue/ast"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// Cluster is a cluster that instances are rendered for.
type Cluster struct {
	// Name is a DNS label.
	Name string
	// At is the place of the name.
	At     problem.Position
	labels labels.Set
	// Values become fields of spec; see [render.Instance.In].
	Values *ast.StructLit
	// profile is set for a ClusterProfile.
	profile bool
}

// profileVersion is the version of ClusterProfile, the kind of the Cluster Inventory API:
// https://github.com/kubernetes-sigs/cluster-inventory-api
const profileVersion = "multicluster.x-k8s.io/v1alpha1"

// fleet are the clusters of a run, with what is found out about them meanwhile.
type fleet struct {
	clusters []Cluster
	// idle has warnings about instances that select no cluster.
	idle problem.List
	// taken has the names of the values that an instance has taken.
	taken sync.Map
}

// readClusters reads the clusters of --for-each. There are none without the flag. An error of the
// contents is a [problem.List].
func (f *RenderFlags) readClusters(ctx context.Context) (*fleet, error) {
	all := &fleet{}
	var ps problem.List
	for _, name := range f.ForEach {
		paths, err := filesIn(name)
		if err != nil {
			return nil, err
		}
		before := len(all.clusters) + len(ps)
		for _, file := range slices.DeleteFunc(paths, files.IsToolConfig) {
			shown, data, err := files.ReadInput(ctx, file, nil)
			if err != nil {
				return nil, err
			}
			if f.Observer.Read != nil {
				f.Observer.Read(shown, data)
			}
			for doc, wrong := range yamlfile.Objects(shown, data) {
				if wrong == nil {
					wrong = all.read(doc)
				}
				ps = append(ps, wrong...)
			}
		}
		if len(all.clusters)+len(ps) == before {
			ps = append(ps, problem.Problem{Position: problem.Position{File: name}, Rule: problem.RuleRequired, Message: "no cluster in it"})
		}
	}
	return all, ps.Sorted().Err()
}

// read reads the clusters of a document.
func (f *fleet) read(doc yamlfile.Document) problem.List {
	e, ps := doc.Syntax(reference.FromKey, reference.GenerateKey)
	if len(ps) > 0 {
		return ps
	}
	profile := doc.Text("kind") == "ClusterProfile" && doc.Text("apiVersion") == profileVersion
	list, ok := e.(*ast.ListLit)
	switch {
	case profile:
		list = ast.NewList(itemOf(e))
	case !ok:
		return problem.List{{Position: doc.Start(), Rule: problem.RuleType, Message: "want a list of clusters, each with name and values, or a ClusterProfile of " + profileVersion}}
	}
	for _, item := range list.Elts {
		c, wrong := clusterOf(item)
		c.profile = profile
		if i := slices.IndexFunc(f.clusters, func(o Cluster) bool { return o.Name == c.Name }); i >= 0 {
			wrong = append(wrong, problem.Problem{Position: c.At, Path: "name", Rule: problem.RuleDuplicate, Message: "cluster " + c.Name + " stands at " + f.clusters[i].At.String() + " already"})
		}
		if ps = append(ps, wrong...); len(wrong) == 0 {
			f.clusters = append(f.clusters, c)
		}
	}
	return ps
}

// itemOf returns a ClusterProfile as an item of a list of clusters. Its properties are the values,
// and its other fields have other readers.
func itemOf(profile ast.Expr) *ast.StructLit {
	values, item := &ast.StructLit{}, &ast.StructLit{Lbrace: profile.Pos()}
	if properties, ok := cuesyntax.ValueAt(profile, []string{"status", "properties"}).(*ast.ListLit); ok {
		for _, p := range properties.Elts {
			name, _ := cuesyntax.Text(cuesyntax.ValueAt(p, []string{"name"}))
			if value := cuesyntax.ValueAt(p, []string{"value"}); value != nil {
				values.Elts = append(values.Elts, &ast.Field{Label: cuesyntax.Label(name, p.Pos()), Value: value})
			}
		}
	}
	for name, value := range map[string]ast.Expr{"values": values, "name": cuesyntax.ValueAt(profile, []string{"metadata", "name"}), "labels": cuesyntax.ValueAt(profile, []string{"metadata", "labels"})} {
		if value != nil {
			item.Elts = append(item.Elts, &ast.Field{Label: cuesyntax.Label(name, value.Pos()), Value: value})
		}
	}
	return item
}

// clusterOf reads an item of a list of clusters.
func clusterOf(e ast.Expr) (c Cluster, ps problem.List) {
	c.At, c.labels = cuesyntax.Position(e.Pos()), labels.Set{}
	refuse := func(at problem.Position, rule, path, message string) {
		ps = append(ps, problem.Problem{Position: at, Rule: rule, Path: path, Message: message})
	}
	s, ok := e.(*ast.StructLit)
	if !ok {
		refuse(c.At, problem.RuleType, "", "must be a mapping with name and values")
		return c, ps
	}
	at := c.At
	for _, f := range cuesyntax.Fields(s) {
		value, isMap := f.Value.(*ast.StructLit)
		switch name := cuesyntax.LabelName(f.Label); {
		case name == "name":
			c.Name, _ = cuesyntax.Text(f.Value)
			c.At = cuesyntax.Position(f.Value.Pos())
		case name != "labels" && name != "values":
			refuse(cuesyntax.Position(f.Label.Pos()), problem.RuleUnknown, name, "unknown field; known: name, labels, values")
		case !isMap:
			refuse(cuesyntax.Position(f.Value.Pos()), problem.RuleType, name, "must be a mapping")
		case name == "values":
			c.Values = value
		default:
			for _, l := range cuesyntax.Fields(value) {
				key := cuesyntax.LabelName(l.Label)
				if c.labels[key], ok = cuesyntax.Text(l.Value); !ok {
					refuse(cuesyntax.Position(l.Value.Pos()), problem.RuleType, fieldpath.Join(name, key), "must be a string; quote it")
				}
			}
		}
	}
	if c.labels[corev1.LabelMetadataName] = c.Name; len(validation.IsDNS1123Label(c.Name)) > 0 {
		refuse(c.At, problem.RuleInstance, "name", "must be a DNS label, which is a string of at most 63 characters: a-z, 0-9 and -")
	}
	if cuesyntax.Field(s, "values") == nil {
		refuse(at, problem.RuleRequired, "values", "missing; a cluster without any has values: {}")
	}
	return c, ps
}

// each yields every instance once for each of its clusters. Without clusters, it is yielded as it is.
func (f *fleet) each(found iter.Seq[candidate]) iter.Seq[candidate] {
	taken := func(name string) { f.taken.Store(name, true) }
	return func(yield func(candidate) bool) {
		for c := range found {
			clusters := f.clusters
			if c.instance == nil || clusters == nil {
				if !yield(c) {
					return
				}
				continue
			}
			_, annotations := c.instance.Metadata()
			path := fieldpath.Join("metadata.annotations", v1alpha1.AnnotationClusters)
			p := problem.Problem{Position: c.instance.PosOf(path), Path: path, Rule: problem.RuleInstance, Instance: c.instance.String()}
			if selector, err := labels.Parse(annotations[v1alpha1.AnnotationClusters]); err != nil {
				p.Message = "no label selector: " + err.Error()
				c.problems = append(c.problems, p)
			} else {
				clusters = slices.DeleteFunc(slices.Clone(clusters), func(c Cluster) bool { return !selector.Matches(c.labels) })
			}
			if len(clusters) == 0 {
				p.Severity, p.Message = problem.Warning, "selects none of the clusters"
				f.idle = append(f.idle, p)
			}
			for _, cluster := range clusters {
				if !yield(candidate{c.file, c.instance.In(cluster.Name, cluster.Values, taken), slices.Clone(c.problems)}) {
					return
				}
			}
		}
	}
}

// finish adds the problems of the clusters to those of the instances. A problem that only some
// clusters have names them, unless it is in their own file. A value that no instance takes may be
// misspelled. The properties of a ClusterProfile have other readers as well.
func (f *fleet) finish(sum Checks) Checks {
	var names []string
	for _, c := range f.clusters {
		names = append(names, c.Name)
	}
	for i, p := range sum.Problems {
		own := slices.ContainsFunc(f.clusters, func(c Cluster) bool { return c.At.File == p.Position.File })
		if in := sum.clusters[p]; len(in) > 0 && len(in) < len(names) && !own {
			sum.Problems[i].Message += ", " + source.InClusters(in, names)
		}
	}
	if sum.Problems = append(sum.Problems, f.idle...); sum.Problems.Failed() {
		return sum
	}
	for _, c := range f.clusters {
		for _, v := range cuesyntax.Fields(c.Values) {
			name := cuesyntax.LabelName(v.Label)
			if _, seen := f.taken.LoadOrStore(name, true); seen || c.profile {
				continue
			}
			sum.Problems = append(sum.Problems, problem.Problem{
				Severity: problem.Warning, Position: cuesyntax.Position(v.Label.Pos()), Path: name, Rule: problem.RuleUnknown,
				Message: "no instance takes this value: each of them sets spec." + name + " itself, or its kind has no such field",
			})
		}
	}
	return sum
}
