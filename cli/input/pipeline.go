package input

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"cuelang.org/go/cue/ast"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// renderFlags are those of every command that renders instances.
type RenderFlags struct {
	platform.Flags
	FileFlags
	Policies     []string
	allowSecrets bool
	// revisions says that a graph may stand in the input in several revisions.
	AllowRevisions bool
	// check looks at every rendered node; see [render.Options].
	NodeCheck func(v1alpha1.Node, map[string]any) problem.List
}

func (f *RenderFlags) AddFlags(cmd *cobra.Command) {
	f.Flags.AddFlags(cmd)
	f.FileFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&f.Policies, "policy", nil, "policy module that sees every instance and everything rendered; repeatable")
	fl.BoolVar(&f.allowSecrets, "allow-secrets", false, "let Secrets carry literal data")
}

// rendered is what became of one instance, with what a command made of it.
type Rendered[T any] struct {
	File     string
	Instance *render.Instance
	problems problem.List
	Value    T
}

// renderAll renders every instance on all processors. The value function runs
// beside the rendering, for instances without an Error; visit gets the results
// in the order of the input. Instances that are wrong end nothing: what is wrong
// with all of them comes back, and an error only where there is no answer.
func RenderAll[T any](ctx context.Context, env command.Env, f *RenderFlags,
	value func(render.Result) (T, problem.List), visit func(Rendered[T]) error,
) (Checks, error) {
	files, err := f.Paths()
	if err != nil {
		return Checks{}, err
	}
	var unread error
	sum, err := renderEach(ctx, f, instances(files, env.In, &unread), value, visit)
	if err == nil {
		err = unread
	}
	return sum, err
}

// renderEach is renderAll for instances that were found already.
func renderEach[T any](ctx context.Context, f *RenderFlags, found iter.Seq[candidate],
	value func(render.Result) (T, problem.List), visit func(Rendered[T]) error,
) (Checks, error) {
	var sum Checks
	catalog, err := f.LoadPlatforms(ctx)
	if err != nil {
		return sum, err
	}
	opts := render.Options{AllowSecrets: f.allowSecrets, Check: f.NodeCheck}
	opts.Policies, err = render.Map(ctx, f.Limits(), f.Policies,
		func(arg string) render.Subject { return f.ModuleSubject(ctx, arg) },
		func(arg string) (*render.Policy, error) { return f.OpenPolicy(ctx, arg) })
	if err != nil {
		return sum, err
	}
	jobs := func(yield func(render.Job[Rendered[T]]) bool) {
		for in := range found {
			if !yield(job(ctx, in, catalog, f.Namespace, value)) {
				return
			}
		}
	}
	first := map[string]problem.Position{}
	for r, err := range render.Each(ctx, opts, f.Limits(), iter.Seq[render.Job[Rendered[T]]](jobs)) {
		if err != nil {
			return sum, err
		}
		if r.Instance != nil && r.Instance.Name != "" {
			r.problems = append(r.problems, duplicate(r.Instance, first)...)
		}
		sum.add(r.File, r.Instance, r.problems)
		if r.problems.Failed() || r.Instance == nil {
			continue
		}
		if err := visit(r); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func job[T any](ctx context.Context, in candidate, c *platform.Catalog, namespace string, value func(render.Result) (T, problem.List)) render.Job[Rendered[T]] {
	subject := render.Named(in.file)
	if in.instance != nil {
		subject.Name = in.instance.Pos().String() + ": " + in.instance.String()
		subject.Files = func() []*ast.File {
			p, err := c.Find(ctx, in.instance)
			if err != nil {
				return nil // then nothing was evaluated
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
		out.problems = append(out.problems, in.instance.Place(p, namespace)...)
		res := r.Render(in.instance, p)
		out.problems = append(out.problems, otherThan(out.problems, res.Problems)...)
		if !out.problems.Failed() {
			v, problems := value(res)
			out.Value, out.problems = v, append(out.problems, problems...)
		}
		return out
	}}
}

// otherThan leaves out problems at places that have one already: a name that
// Kubernetes doesn't take needn't match the platform's pattern too.
func otherThan(known, found problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(found), func(p problem.Problem) bool {
		return slices.ContainsFunc(known, func(k problem.Problem) bool { return k.Position == p.Position && k.Path == p.Path })
	})
}

// duplicate refuses a second instance of one name.
func duplicate(in *render.Instance, first map[string]problem.Position) problem.List {
	key := in.Group() + "\x00" + in.String()
	if at, ok := first[key]; ok {
		return problem.List{{
			Position: in.Pos(), Rule: problem.RuleDuplicate, Instance: in.String(),
			Message: fmt.Sprintf("%s stands at %s already", in, at),
		}}
	}
	first[key] = in.Pos()
	return nil
}
