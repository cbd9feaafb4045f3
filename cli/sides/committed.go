package sides

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/review"
)

// committed is a graph in committed output.
type committed struct {
	*v1alpha1.ResourceGraph
	at   problem.Position
	path string
	used bool
	// cluster is the first directory of the path, if there are clusters.
	cluster string
}

// UseOutput makes the committed graphs in a directory stand for the instances of the side,
// which must have its units: nothing of it was rendered. An instance without a graph is
// unknown, and a graph without an instance is a unit, because the cluster has it. head has the
// namespaces of instances that don't name theirs. An error means that dir is no output.
func (s *Side) UseOutput(ctx context.Context, dir string, head *Side) error {
	graphs, err := s.readOutput(ctx, dir)
	if err != nil {
		return fmt.Errorf("--base-output: %w", err)
	}
	s.Output = filepath.ToSlash(filepath.Clean(dir))
	for i := range s.Units {
		u := &s.Units[i]
		isGraph := u.APIGroup == v1alpha1.GroupVersion.Group && u.Kind == "ResourceGraph"
		if isGraph || u.Graph == nil && !u.Problems.Failed() {
			continue // it is no instance
		}
		u.Graph, u.Cause = nil, ""
		u.Problems = problem.List{{Rule: problem.RuleUnchecked, Position: u.At, Message: "the committed output in " + s.Output + " has no graph of it"}}
		for _, g := range graphs {
			if g.isOf(u) {
				u.Graph, u.Problems, u.Nodes, g.used = g.ResourceGraph, nil, nil, true
				u.Instance.Graph, u.Namespace = g.Name, cmp.Or(u.Namespace, head.namespaceOf(u, g.Namespace))
			}
		}
	}
	for _, g := range graphs {
		if !g.used {
			s.Units = append(s.Units, g.unit())
		}
	}
	return nil
}

// CheckOutput compares the committed graphs in a directory with those of the side, which must
// have its units. It returns nil if they are the same. A graph of an instance that only base
// has should be gone; others may belong to files that the side doesn't have.
func (s *Side) CheckOutput(ctx context.Context, dir string, base *Side) *review.StaleOutput {
	stale := &review.StaleOutput{Dir: filepath.ToSlash(filepath.Clean(dir))}
	graphs, err := s.readOutput(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		stale.Error = err.Error()
		return stale
	}
	byName := map[string]*committed{}
	for _, g := range graphs {
		byName[g.cluster+"/"+g.Namespace+"/"+g.Name] = g
	}
	add := func(u *review.Unit) {
		stale.Instances = append(stale.Instances, u.String())
	}
	for i := range s.Units {
		u := &s.Units[i]
		if u.Graph == nil || u.Kind == "ResourceGraph" {
			continue
		}
		g := byName[u.Cluster+"/"+u.Graph.Namespace+"/"+u.Graph.Name]
		if g == nil {
			add(u)
			continue
		}
		g.used = true
		if d, err := objectdiff.CompareGraphs(g.ResourceGraph, u.Graph); err != nil || len(d.Objects) > 0 {
			add(u)
		}
	}
	for i := range base.Units {
		u := &base.Units[i]
		isOf := func(g *committed) bool { return !g.used && g.isOf(u) }
		if !s.has(u) && slices.ContainsFunc(graphs, isOf) {
			add(u)
		}
	}
	if len(stale.Instances) == 0 {
		return nil
	}
	slices.Sort(stale.Instances)
	return stale
}

// has reports whether the side has an instance of the other side, rendered or not.
func (s *Side) has(u *review.Unit) bool {
	return slices.ContainsFunc(s.Units, func(o review.Unit) bool {
		return o.APIGroup == u.APIGroup && o.Kind == u.Kind && o.Name == u.Name && o.Cluster == u.Cluster && (o.Namespace == "" || u.Namespace == "" || o.Namespace == u.Namespace)
	})
}

// HintOutput adds a hint to the failures of the side: committed output in a directory of the
// checkout, which may be "", has an answer all the same.
func (s *Side) HintOutput(dir string) {
	if dir == "" || s.Checkout.FillInput(dir, false) != nil {
		return
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return
	}
	for i := range s.Failures {
		ps := s.Failures[i].Problems
		for n := range ps {
			if ps[n].Hint == "" {
				ps[n].Hint = "compare with the committed output: --base-output " + s.Checkout.Relative(dir)
			}
		}
	}
}

// readOutput returns the graphs in a directory of the checkout. Its errors are no problems of
// the files under review, which have another exit code.
func (s *Side) readOutput(ctx context.Context, dir string) ([]*committed, error) {
	path, ok := s.Checkout.Path(dir)
	if !ok {
		return nil, fmt.Errorf("%s: %w in %s", dir, fs.ErrNotExist, s.Checkout.Name)
	}
	if err := s.Checkout.FillInput(path, true); err != nil {
		return nil, err
	}
	names, err := files.FindYAML(path, true)
	if err != nil {
		return nil, err
	}
	var graphs []*committed
	for _, name := range names {
		data, err := files.ReadFile(ctx, name)
		if err != nil {
			return nil, err
		}
		for doc, ps := range yamlfile.Objects(s.Checkout.Shown(name), data) {
			if ps.Failed() {
				return nil, errors.New(ps.Error())
			}
			rg := &v1alpha1.ResourceGraph{}
			if doc.Text("kind") != "ResourceGraph" || doc.Text("apiVersion") != v1alpha1.GroupVersion.String() {
				return nil, fmt.Errorf("%s: is no ResourceGraph; compare plain manifests with pequod diff REV:DIR DIR", doc.Start())
			}
			if err := doc.Decode(rg); err != nil {
				return nil, errors.New(doc.Problem(err).Error())
			}
			g := &committed{ResourceGraph: rg, at: doc.Start(), path: s.Checkout.Relative(name)}
			if rel, err := filepath.Rel(path, name); err == nil && len(s.clusters) > 0 {
				g.cluster, _, _ = strings.Cut(filepath.ToSlash(rel), "/")
			}
			graphs = append(graphs, g)
		}
	}
	return graphs, nil
}

// source returns the kind that the graph was rendered from.
func (g *committed) source() schema.GroupKind {
	return schema.FromAPIVersionAndKind(g.Spec.SourceRef.APIVersion, g.Spec.SourceRef.Kind).GroupKind()
}

// isOf reports whether the graph was rendered from an instance.
func (g *committed) isOf(u *review.Unit) bool {
	return g.source() == (schema.GroupKind{Group: u.APIGroup, Kind: u.Kind}) && g.Spec.SourceRef.Name == u.Name && g.cluster == u.Cluster &&
		(u.Namespace == "" || u.Namespace == g.Namespace)
}

// unit returns the instance of a graph whose document is not among the files.
func (g *committed) unit() review.Unit {
	kind := g.source()
	in := objectdiff.Instance{Kind: kind.Kind, Namespace: g.Namespace, Name: g.Spec.SourceRef.Name, Cluster: g.cluster, File: g.at.File, Graph: g.Name}
	return review.Unit{Instance: in, APIGroup: kind.Group, Path: g.path, At: g.at, Graph: g.ResourceGraph}
}

// namespaceOf returns the namespace of an instance on this side, or fallback if the side
// doesn't have it. An instance of a cluster-scoped kind has none.
func (s *Side) namespaceOf(u *review.Unit, fallback string) string {
	for i := range s.Units {
		if o := &s.Units[i]; o.Path == u.Path && o.Kind == u.Kind && o.APIGroup == u.APIGroup && o.Name == u.Name {
			return o.Namespace
		}
	}
	return fallback
}
