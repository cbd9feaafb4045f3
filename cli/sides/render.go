package sides

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/review"
)

// Side is one side of a review.
type Side struct {
	review.Tree
	// Checkout has the files. It is the zero Checkout for the working directory.
	Checkout *Checkout

	flags    *input.RenderFlags
	clusters map[string]input.Cluster // of --for-each, by their names
	catalog  *platform.Catalog        // nil if nothing could be loaded
	policies []*render.Policy
	// documents are all documents of the input in its order.
	documents []document
	// results are those of documents without problems, by path and position.
	results map[place]result
	// sums has the SHA-256 sums of the files that were read, by their paths.
	sums sync.Map
	// instancesOnly leaves out the documents of other kinds, and Others counts them.
	instancesOnly bool
	Others        int
	// moduleFiles has the files of modules as readers know them.
	moduleFiles map[string]review.Place
}

// result is a rendered graph with everything that a second rendering would yield.
type result struct {
	graph    *v1alpha1.ResourceGraph
	owned    []string
	platform *render.Platform
	problems problem.List
	// positions are those of the nodes in the module.
	positions map[string]problem.Position
}

// document is a document of the input with its problems. It doesn't keep the instance, whose
// syntax is larger than its graph.
type document struct {
	file     string
	id       *identity // nil if the document is no instance
	problems problem.List
}

// identity has the names of an instance and its position.
type identity struct {
	group, kind, namespace, name, cluster string
	at                                    problem.Position
}

// groupKind returns the name of the kind as platforms have it.
func (id *identity) groupKind() string { return id.kind + "." + id.group }

// place identifies a document on both sides, and what is made of it for a cluster.
type place struct {
	path         string
	line, column int
	cluster      string
}

// placeOf returns the place of a document of a file, for a cluster or "".
func (s *Side) placeOf(file string, at problem.Position, cluster string) place {
	return place{s.Checkout.Relative(file), at.Line, at.Column, cluster}
}

// Render renders one side. What was rendered for other, the side before it, is not rendered
// again if all inputs are equal; other may be nil. Everything that fails becomes a failure of
// the tree. An error means that ctx is done.
func Render(ctx context.Context, env command.Env, flags *input.RenderFlags, from *Checkout, name review.Side, other *Side) (*Side, error) {
	s := newSide(flags, from, name)
	f := *flags
	f.Failed = func(name string, err error) { s.fail("platform "+name, "", err) }
	if len(f.Filenames) == 0 {
		return s, nil
	}
	err := s.render(ctx, env, &f, other)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		s.failAll("the files", err)
	}
	return s, nil
}

// RenderInstances renders the instances of files on disk, as [Render] does, and leaves out
// other documents. Platforms that can't be loaded and files that can't be read are errors.
func RenderInstances(ctx context.Context, env command.Env, flags *input.RenderFlags, name review.Side, other *Side) (*Side, error) {
	s := newSide(flags, &Checkout{}, name)
	s.instancesOnly = true
	return s, s.render(ctx, env, flags, other)
}

// newSide returns a side without documents.
func newSide(flags *input.RenderFlags, from *Checkout, name review.Side) *Side {
	return &Side{Tree: review.Tree{Side: name}, Checkout: from, flags: flags, results: map[place]result{}, moduleFiles: map[string]review.Place{}, clusters: map[string]input.Cluster{}}
}

// render fills in the documents and their results.
func (s *Side) render(ctx context.Context, env command.Env, flags *input.RenderFlags, other *Side) error {
	f := *flags
	f.Observer = input.Observer{
		Clusters: func(all []input.Cluster) {
			for _, c := range all {
				s.Clusters, s.clusters[c.Name] = append(s.Clusters, c.Name), c
			}
		},
		Loaded: func(c *platform.Catalog, policies []*render.Policy) { s.catalog, s.policies = c, policies },
		Read:   func(file string, data []byte) { s.sums.Store(s.Checkout.Relative(file), sha256.Sum256(data)) },
		Document: func(file string, in *render.Instance, ps problem.List) {
			if flags.Observer.Document != nil {
				flags.Observer.Document(file, in, ps)
			}
			s.documents = append(s.documents, document{file, identityOf(in), ps})
		},
	}
	if other != nil {
		f.Observer.Known = s.reuse(other)
	}
	_, err := input.RenderAll(ctx, env, &f,
		func(r render.Result) (result, problem.List) {
			return result{r.Graph, r.Owned, r.Platform, r.Problems, r.Positions}, nil
		},
		func(r input.Rendered[result]) error {
			s.results[s.placeOf(r.File, r.Instance.Pos(), r.Instance.Cluster)] = r.Value
			return nil
		})
	return err
}

// failAll records that nothing of the side is known.
func (s *Side) failAll(subject string, err error) {
	s.fail(subject, "", err)
	s.Failures[len(s.Failures)-1].Whole = true
}

// fail records a part that can't be read.
func (s *Side) fail(subject, path string, err error) {
	s.Failures = append(s.Failures, review.Failure{Subject: s.Checkout.Shown(subject), Path: path, Problems: s.Checkout.problems(problemsOf(err))})
}

// problemsOf returns an error as problems.
func problemsOf(err error) problem.List {
	var ps problem.List
	if errors.As(err, &ps) {
		return ps
	}
	return problem.List{{Rule: problem.RuleUnchecked, Message: err.Error()}}
}

// Platform returns the platform of an instance of the side, or nil if it was not rendered.
func (s *Side) Platform(u *review.Unit) *render.Platform {
	return s.platforms()[u.Kind+"."+u.APIGroup]
}

// kinds returns the kinds that the side has platforms for.
func (s *Side) kinds() []string {
	var all []string
	if s.catalog != nil {
		for _, p := range s.catalog.Given {
			all = append(all, p.GroupKind())
		}
	}
	return all
}

// Units fills in the units of both sides. It needs both, because a document that is no
// instance on either side is a plain object.
func Units(ctx context.Context, base, head *Side) error {
	kinds := slices.Concat(base.kinds(), head.kinds())
	for _, s := range slices.Compact([]*Side{base, head}) { // one, if another program makes the base
		if err := s.units(ctx, kinds); err != nil {
			return err
		}
	}
	return nil
}

// units fills in the units of a side. kinds are those with platforms on either side.
func (s *Side) units(ctx context.Context, kinds []string) error {
	plain := plainFiles{side: s, read: map[string]map[place]review.Unit{}}
	for _, d := range s.documents {
		path := s.Checkout.Relative(d.file)
		if d.id == nil {
			s.Failures = append(s.Failures, review.Failure{Subject: s.Checkout.Shown(d.file), Path: path, Problems: s.Checkout.problems(d.problems)})
			continue
		}
		u := s.unit(d, path)
		if noPlatform(d.problems) {
			if s.isPlain(d.id, kinds) {
				if s.instancesOnly {
					s.Others++
					continue
				}
				found, err := plain.unit(ctx, d.file, d.id)
				if err != nil {
					return err
				}
				if found != nil {
					u = *found
				}
			} else if cause := s.cause(); cause != nil {
				u.Cause, u.Problems = cause.Subject, cause.Problems
			}
		}
		s.Units = append(s.Units, u)
	}
	return nil
}

// unit returns the unit of an instance.
func (s *Side) unit(d document, path string) review.Unit {
	at := d.id.at
	at.File = s.Checkout.Shown(at.File)
	u := review.Unit{
		Instance: objectdiff.Instance{Kind: d.id.kind, Namespace: d.id.namespace, Name: d.id.name, Cluster: d.id.cluster, File: s.Checkout.Shown(d.file)},
		APIGroup: d.id.group, Path: path, At: at, Problems: s.Checkout.problems(d.problems),
	}
	if r, ok := s.results[s.placeOf(d.file, d.id.at, d.id.cluster)]; ok && !d.problems.Failed() {
		u.Graph, u.Instance.Graph = r.graph, r.graph.Name
		u.Nodes = make(map[string]review.Place, len(r.positions))
		for id, at := range r.positions {
			u.Nodes[id] = s.modulePlace(at)
		}
	}
	return u
}

// modulePlace returns a position in a module for readers. Embedded modules have files that
// exist nowhere, and others are outside of the repository.
func (s *Side) modulePlace(at problem.Position) review.Place {
	known, ok := s.moduleFiles[at.File]
	if !ok {
		known.File = s.Checkout.Shown(at.File)
		if path := s.Checkout.Relative(at.File); filepath.IsLocal(filepath.FromSlash(path)) {
			if _, err := os.Stat(at.File); err == nil {
				known.Path = path
			}
		}
		s.moduleFiles[at.File] = known
	}
	known.Line, known.Column = at.Line, at.Column
	return known
}

// cause returns the platform that could not be loaded, if there is one.
func (s *Side) cause() *review.Failure {
	for i := range s.Failures {
		if f := &s.Failures[i]; !f.Whole && f.Path == "" {
			return f
		}
	}
	return nil
}

// noPlatform reports whether the kind of a document has no platform. Other problems of the
// document don't matter then: they are those of an instance.
func noPlatform(ps problem.List) bool {
	return slices.ContainsFunc(ps, func(p problem.Problem) bool {
		return p.Rule == problem.RulePlatform && p.Path == "" && p.Severity == problem.Error
	})
}

// identityOf returns the names of an instance, or nil for nil.
func identityOf(in *render.Instance) *identity {
	if in == nil {
		return nil
	}
	return &identity{in.Group(), in.Kind, in.Namespace, in.Name, in.Cluster, in.Pos()}
}

// isGraph reports whether a document is a ResourceGraph.
func (id *identity) isGraph() bool {
	return id.group == v1alpha1.GroupVersion.Group && id.kind == "ResourceGraph"
}

// Failed returns a side without any known instance.
func Failed(from *Checkout, name review.Side, flags *input.RenderFlags, subject string, err error) *Side {
	s := &Side{Tree: review.Tree{Side: name}, Checkout: from, flags: flags}
	s.failAll(subject, err)
	return s
}
