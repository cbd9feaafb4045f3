package input

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"cuelang.org/go/cue/ast"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// RenderFlags are the flags of commands that render instances: the platforms and
// limits, the files, and the policies.
type RenderFlags struct {
	platform.Flags
	FileFlags
	// Policies are references to policy modules, in addition to those of the
	// platforms. They check the instances of all platforms.
	Policies []string
	// AllowSecrets permits Secrets with literal data. Without it they are
	// problems, because rendered output is often committed to a repository.
	AllowSecrets bool
	// AllowRevisions lets the input contain a graph in several revisions. A
	// command sets it; it is no flag.
	AllowRevisions bool
	// ForEach is --for-each: files with the clusters that each instance is rendered for.
	ForEach []string
	// Observer sees the course of the rendering. A command sets it; it is no flag.
	Observer Observer
	// NodeCheck checks every rendered node; see [render.Options]. If it is nil, only nodes
	// with kinds of Pequod are checked.
	// A command sets it; it is no flag.
	NodeCheck func(v1alpha1.Node, map[string]any) problem.List
}

// Observer has functions that see the course of the rendering. Each may be nil.
type Observer struct {
	// Loaded gets the platforms and the policies of --policy before the first instance.
	Loaded func(*platform.Catalog, []*render.Policy)
	// Clusters gets the clusters of --for-each before the first instance.
	Clusters func([]Cluster)
	// Read gets the bytes of every file, before its documents are rendered. It must not
	// keep them.
	Read func(file string, data []byte)
	// Document gets every document in the order of the input, with its problems. The
	// instance is nil if the document is none.
	Document func(file string, in *render.Instance, ps problem.List)
	// Known returns the result of an instance that was rendered before with the same
	// platform and policies. Several goroutines call it at once.
	Known func(*render.Instance, *render.Platform) (render.Result, bool)
}

// AddFlags registers the flags with cmd, including those of the embedded types.
func (f *RenderFlags) AddFlags(cmd *cobra.Command) {
	f.Flags.AddFlags(cmd)
	f.FileFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&f.Policies, "policy", nil, "policy module to check every instance and every rendered object with; can be repeated")
	fl.BoolVar(&f.AllowSecrets, "allow-secrets", false, "allow Secrets with literal data")
}

// AddForEach registers --for-each with cmd, a command whose output has a place for every cluster.
func (f *RenderFlags) AddForEach(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.ForEach, "for-each", nil,
		"clusters to render each instance for: a file with a list of clusters or with ClusterProfiles, or a directory of such files; can be repeated")
	command.Must(cmd.RegisterFlagCompletionFunc("for-each", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}))
}

// LoadPolicies loads the policies of --policy, under the limits of evaluation.
func (f *RenderFlags) LoadPolicies(ctx context.Context) ([]*render.Policy, error) {
	if err := f.Prefetch(ctx, f.Policies); err != nil {
		return nil, err
	}
	policies, err := render.Map(ctx, f.Limits(), f.Policies,
		func(ref string) render.Subject { return f.ModuleSubject(ctx, ref) },
		func(ref string) (*render.Policy, error) { return f.OpenPolicy(ctx, ref) })
	return slices.DeleteFunc(policies, func(p *render.Policy) bool { return p == nil }), err
}

// Fetch implements [platform.Fetcher].
func (f *RenderFlags) Fetch(ctx context.Context) {
	_ = f.Prefetch(ctx, f.Policies) // the error is kept
	f.Flags.Fetch(ctx)
}

// Rendered is the result of one instance. Value is the result of the command's
// own function, which runs in parallel with the rendering.
type Rendered[T any] struct {
	// File is the name of the file in messages.
	File string
	// Instance is the instance. Visitors never get nil.
	Instance *render.Instance
	// problems are those of reading, rendering and of value.
	problems problem.List
	// owned are the objects of the graph; see [render.Result].
	owned []string
	// Value is the result of value, which is called only if there are no errors.
	Value T
}

// RenderAll renders every instance of the input on all processors. For each
// instance without errors it calls value in the rendering goroutine, where
// expensive work belongs, and then visit in the caller's goroutine, in the order
// of the input. value may be called by several goroutines at once. An error of
// visit ends the run. The problems of all instances are in the returned checks,
// which are incomplete if there is an error.
func RenderAll[T any](ctx context.Context, env command.Env, f *RenderFlags,
	value func(render.Result) (T, problem.List), visit func(Rendered[T]) error,
) (Checks, error) {
	files, err := f.Paths()
	if err != nil {
		return Checks{}, err
	}
	fleet, err := f.readClusters(ctx)
	if err != nil {
		return Checks{}, err
	}
	if f.Observer.Clusters != nil {
		f.Observer.Clusters(fleet.clusters)
	}
	var unread error
	found := fleet.each(instances(ctx, files, env.In, f.Observer.Read, &unread))
	sum, err := renderEach(ctx, f, found, value, visit)
	if err == nil {
		err = unread
	}
	return fleet.finish(sum), err
}

// renderEach is RenderAll for instances that were read already. The steps are:
// load the platforms and policies, start a job for each instance, and collect the
// results in order.
func renderEach[T any](ctx context.Context, f *RenderFlags, found iter.Seq[candidate],
	value func(render.Result) (T, problem.List), visit func(Rendered[T]) error,
) (Checks, error) {
	var sum Checks
	catalog, err := f.LoadPlatforms(ctx)
	if err != nil {
		return sum, err
	}
	opts := render.Options{AllowSecrets: f.AllowSecrets, Check: f.NodeCheck}
	opts.Policies, err = f.LoadPolicies(ctx)
	if err != nil {
		return sum, err
	}
	if f.Observer.Loaded != nil {
		f.Observer.Loaded(catalog, opts.Policies)
	}
	// The sequence is lazy: instances reads a file when Each asks for its documents.
	jobs := func(yield func(render.Job[Rendered[T]]) bool) {
		for in := range found {
			if !yield(job(ctx, in, catalog, f, value)) {
				return
			}
		}
	}
	// Results arrive in the order of the jobs, on this goroutine, so that problems
	// and duplicates are the same in every run.
	first := map[string]problem.Position{}
	claims := map[string]*graph.Claims{} // by the name of the cluster
	for r, err := range render.Each(ctx, opts, f.Limits(), iter.Seq[render.Job[Rendered[T]]](jobs)) {
		if err != nil {
			return sum, err
		}
		if r.Instance != nil && r.Instance.Name != "" {
			again := duplicate(r.Instance, first)
			if len(again) == 0 { // otherwise all of its objects are rendered twice
				if claims[r.Instance.Cluster] == nil {
					claims[r.Instance.Cluster] = &graph.Claims{}
				}
				again = render.Clashes(r.Instance, r.owned, claims[r.Instance.Cluster])
			}
			r.problems = append(r.problems, again...)
		}
		sum.add(r.File, r.Instance, r.problems)
		if f.Observer.Document != nil {
			f.Observer.Document(r.File, r.Instance, r.problems)
		}
		if r.problems.Failed() || r.Instance == nil {
			continue
		}
		if err := visit(r); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// job returns the work for one document: find its platform, set its namespaces,
// render it, and call value. f has the namespace of instances without one.
// Each step is skipped if the one before it found an error, except that an
// instance with problems is still rendered: its problems are then complete.
//
// The subject of the job names the instance if its evaluation exceeds a limit.
// Its files are read only in that case.
func job[T any](ctx context.Context, in candidate, c *platform.Catalog, f *RenderFlags, value func(render.Result) (T, problem.List)) render.Job[Rendered[T]] {
	subject := render.Subject{Name: in.file}
	if in.instance != nil {
		subject.Name = in.instance.Pos().String() + ": " + in.instance.String()
		subject.Files = func() []*ast.File {
			p, err := c.Find(ctx, in.instance)
			if err != nil {
				return nil // without a platform, nothing was evaluated
			}
			return p.Subject().Files()
		}
	}
	return render.Job[Rendered[T]]{Subject: subject, Run: func(r *render.Renderer) Rendered[T] {
		out := Rendered[T]{File: in.file, Instance: in.instance, problems: in.problems}
		if in.instance == nil {
			return out
		}
		p, err := c.Find(ctx, in.instance)
		if err != nil {
			out.problems = append(out.problems, ProblemsOf(err)...)
			return out
		}
		out.problems = append(out.problems, in.instance.SetNamespaces(p, f.Namespace)...)
		res, known := f.Observer.known(in.instance, p)
		if !known {
			res = r.Render(in.instance, p)
		}
		out.owned = res.Owned
		out.problems = append(out.problems, res.Problems.Without(out.problems)...)
		if len(in.problems) > 0 {
			out.problems = out.problems.Sorted()
		}
		if !out.problems.Failed() {
			v, problems := value(res)
			out.Value, out.problems = v, append(out.problems, problems...)
		}
		return out
	}}
}

// known returns the result that Known has for an instance, if there is one.
func (o Observer) known(in *render.Instance, p *render.Platform) (render.Result, bool) {
	if o.Known == nil {
		return render.Result{}, false
	}
	return o.Known(in, p)
}

// duplicate reports a second instance of one cluster, group, kind, namespace and name. first
// holds the positions of the instances so far; duplicate adds in to it.
func duplicate(in *render.Instance, first map[string]problem.Position) problem.List {
	key := in.Cluster + "\x00" + in.Group() + "\x00" + in.String()
	if at, ok := first[key]; ok {
		return problem.List{{
			Position: in.Pos(), Rule: problem.RuleDuplicate, Instance: in.String(),
			Message: fmt.Sprintf("%s stands at %s already", in, at),
		}}
	}
	first[key] = in.Pos()
	return nil
}
