package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue/ast"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// renderFlags are those of every command that renders instances.
type renderFlags struct {
	platformFlags
	inputFlags
	policies     []string
	allowSecrets bool
	// revisions says that a graph may stand in the input in several revisions.
	revisions bool
	// check looks at every rendered node; see [render.Options].
	check func(v1alpha1.Node, map[string]any) problem.List
}

func (f *renderFlags) add(cmd *cobra.Command) {
	f.platformFlags.add(cmd)
	f.inputFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&f.policies, "policy", nil, "policy module that sees every instance and everything rendered; repeatable")
	fl.BoolVar(&f.allowSecrets, "allow-secrets", false, "let Secrets carry literal data")
}

// rendered is what became of one instance, with what a command made of it.
type rendered[T any] struct {
	file     string
	instance *render.Instance
	problems problem.List
	value    T
}

// renderAll renders every instance on all processors. The value function runs
// beside the rendering, for instances without an Error; visit gets the results
// in the order of the input. Instances that are wrong end nothing: what is wrong
// with all of them comes back, and an error only where there is no answer.
func renderAll[T any](ctx context.Context, s streams, f *renderFlags,
	value func(render.Result) (T, problem.List), visit func(rendered[T]) error,
) (checks, error) {
	files, err := f.files()
	if err != nil {
		return checks{}, err
	}
	var unread error
	sum, err := renderEach(ctx, f, instances(files, s.in, &unread), value, visit)
	if err == nil {
		err = unread
	}
	return sum, err
}

// renderEach is renderAll for instances that were found already.
func renderEach[T any](ctx context.Context, f *renderFlags, found iter.Seq[input],
	value func(render.Result) (T, problem.List), visit func(rendered[T]) error,
) (checks, error) {
	var sum checks
	catalog, err := f.open(ctx)
	if err != nil {
		return sum, err
	}
	opts := render.Options{AllowSecrets: f.allowSecrets, Check: f.check}
	opts.Policies, err = render.Map(ctx, f.limits(), f.policies,
		func(arg string) render.Subject { return f.moduleSubject(ctx, arg) },
		func(arg string) (*render.Policy, error) { return f.openPolicy(ctx, arg) })
	if err != nil {
		return sum, err
	}
	jobs := func(yield func(render.Job[rendered[T]]) bool) {
		for in := range found {
			if !yield(job(ctx, in, catalog, f.namespace, value)) {
				return
			}
		}
	}
	first := map[string]problem.Position{}
	for r, err := range render.Each(ctx, opts, f.limits(), iter.Seq[render.Job[rendered[T]]](jobs)) {
		if err != nil {
			return sum, err
		}
		if r.instance != nil && r.instance.Name != "" {
			r.problems = append(r.problems, duplicate(r.instance, first)...)
		}
		sum.add(r.file, r.instance, r.problems)
		if r.problems.Failed() || r.instance == nil {
			continue
		}
		if err := visit(r); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func job[T any](ctx context.Context, in input, c *catalog, namespace string, value func(render.Result) (T, problem.List)) render.Job[rendered[T]] {
	subject := render.Named(in.file)
	if in.instance != nil {
		subject.Name = in.instance.Pos().String() + ": " + in.instance.String()
		subject.Files = func() []*ast.File {
			p, err := c.find(ctx, in.instance)
			if err != nil {
				return nil // then nothing was evaluated
			}
			return p.Subject().Files()
		}
	}
	return render.Job[rendered[T]]{Subject: subject, Run: func(r *render.Renderer) rendered[T] {
		out := rendered[T]{file: in.file, instance: in.instance, problems: in.problems}
		if in.instance == nil {
			return out
		}
		p, err := c.find(ctx, in.instance)
		if err != nil {
			out.problems = append(out.problems, problemsOf(err)...)
			return out
		}
		out.problems = append(out.problems, in.instance.Place(p, namespace)...)
		res := r.Render(in.instance, p)
		out.problems = append(out.problems, otherThan(out.problems, res.Problems)...)
		if !out.problems.Failed() {
			v, problems := value(res)
			out.value, out.problems = v, append(out.problems, problems...)
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

// problemsOf gives the problems in an error, or the error as one without a place.
func problemsOf(err error) problem.List {
	if ps, ok := err.(problem.List); ok {
		return ps
	}
	return problem.List{{Message: err.Error(), Rule: problem.RulePlatform}}
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

// moduleSubject returns the subject of evaluations of the module that arg refers to.
func (f *limitFlags) moduleSubject(ctx context.Context, arg string) render.Subject {
	return render.Subject{Name: arg, Files: func() []*ast.File {
		ref, err := modules.ParseRef(arg)
		if err != nil {
			return nil
		}
		return moduleFiles(ctx, f.modules, ref, "")
	}}
}

// openPolicy loads the policy module that arg refers to.
func (f *limitFlags) openPolicy(ctx context.Context, arg string) (*render.Policy, error) {
	ref, err := modules.ParseRef(arg)
	if err != nil {
		return nil, err
	}
	return loadPolicy(ctx, f.modules, ref, "")
}

// checks gathers what was looked at and what was found.
type checks struct {
	subjects []report.Subject
	problems problem.List
}

func (c *checks) add(file string, in *render.Instance, ps problem.List) {
	name := "(unreadable)"
	if in != nil {
		name = in.String()
	}
	c.subjects = append(c.subjects, report.Subject{File: file, Instance: name})
	c.problems = append(c.problems, ps...)
}
