package vet

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/modules/moduletest"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/kinds"
)

// Options configure [Platform] and [Policies].
type Options struct {
	// Limits are those of each evaluation, so that they don't depend on the number
	// of checks.
	Limits render.Limits
	// Catalog has the schemas of the kinds that modules render.
	Catalog *kinds.Catalog
	// AllowSecrets accepts Secrets with literal data.
	AllowSecrets bool
}

// Platform checks a platform: its CRD, its module as [Module] does, and the objects of
// its test cases. The error is about an evaluation that was stopped. The check is then
// without an answer.
func Platform(ctx context.Context, p *render.Platform, o Options) (problem.List, error) {
	guard := func(run func()) error {
		_, err := render.Guard(ctx, o.Limits, p.Subject(), func() (struct{}, error) { run(); return struct{}{}, nil })
		return err
	}
	var made *crdgen.Result
	var failed error
	if err := guard(func() { made, failed = crd.Generate(p) }); err != nil {
		return nil, err
	}
	var found problem.List
	switch {
	case errors.As(failed, &found):
	case failed != nil:
		found = problem.List{{Position: problem.Position{File: p.From}, Rule: problem.RuleModule, Message: failed.Error()}}
	default:
		found = made.Notes
	}
	static, err := Module(p, o, guard)
	if err != nil {
		return nil, err
	}
	cases, err := testCases(ctx, p, o)
	if err != nil {
		return nil, err
	}
	// Problems of the source show up in the output of the cases as well.
	cases = slices.DeleteFunc(cases, func(q problem.Problem) bool {
		return slices.ContainsFunc(static, func(s problem.Problem) bool { return s.Position == q.Position && s.Message == q.Message })
	})
	return slices.Concat(found, static, cases), nil
}

// testCases returns the schema problems of the objects that a module's test cases
// render. It doesn't check the expectations of the cases; that is the job of module
// test. Cases are rendered in parallel, and the problems keep the order of the files.
func testCases(ctx context.Context, p *render.Platform, o Options) (problem.List, error) {
	if info, err := os.Stat(p.Module.Ref); err != nil || !info.IsDir() {
		return nil, nil // an embedded module, which has no directory
	}
	files, err := moduletest.Instances(p.Module.Ref)
	if err != nil {
		return problem.List{{Rule: problem.RuleSchema, Message: err.Error()}}, nil
	}
	// Literal Secrets are the business of module test and of policies. Here they
	// must not hide the schema problems of the same object.
	opts := render.Options{AllowSecrets: true, Check: o.Catalog.CheckNode}
	subject := func(file moduletest.InstanceFile) render.Subject {
		return render.Subject{Name: file.Path, Files: p.Subject().Files}
	}
	found, err := render.MapWith(ctx, opts, o.Limits, files, subject, func(r *render.Renderer, file moduletest.InstanceFile) (problem.List, error) {
		return objectProblems(r, p, file), nil
	})
	return slices.Concat(found...), err
}

// objectProblems renders the instances of one test case and returns the schema
// problems of the rendered objects. All other problems are dropped: they may be
// the expected result of the case.
func objectProblems(r *render.Renderer, p *render.Platform, file moduletest.InstanceFile) problem.List {
	var found problem.List
	// Invalid instances are skipped: a case may test that an input is rejected.
	for in := range render.Instances(file.Path, file.Data) {
		if in == nil || in.Group() != p.Group || in.Kind != p.Kind || !p.Serves(in.Version()) || in.SetNamespaces(p, "default").Failed() {
			continue
		}
		for _, q := range r.Render(in, p).Problems {
			if q.Rule == problem.RuleSchema {
				found = append(found, q)
			}
		}
	}
	return found
}
