package moduletest

import (
	"context"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/pequod-io/pequod/render"
)

// Options configure [Run] and [Module.Coverage]. The zero value allows no literal
// Secrets and sets no limits.
type Options struct {
	// Limits are the limits of each evaluation.
	Limits render.Limits
	// AllowSecrets allows Secrets with literal values in rendered graphs.
	AllowSecrets bool
}

// Result is the result of one case. Module and Case point to those that were
// given to [Run].
type Result struct {
	Module *Module
	Case   *Case
	// Message describes the failure. It is empty if the case passed.
	Message string
	// Detail is the difference to the golden, or the unexpected problems.
	Detail string

	// outcome is kept for Update and Coverage. It is the zero value for a case
	// without instances.
	outcome outcome
}

// Run runs the cases of modules in parallel and returns the results in the order
// of the cases. Failed cases are results, not errors. The error is about an
// evaluation that was stopped; Run then returns no results, because CUE may still
// be busy with that case.
func Run(ctx context.Context, mods []*Module, o Options) ([]Result, error) {
	var all []Result
	for _, m := range mods {
		for i := range m.Cases {
			all = append(all, Result{Module: m, Case: &m.Cases[i]})
		}
	}
	subject := func(r Result) render.Subject {
		return render.Subject{Name: r.Module.pathOf(r.Case, instanceFile), Files: r.Module.platform.Subject().Files}
	}
	return render.MapWith(ctx, render.Options{AllowSecrets: o.AllowSecrets}, o.Limits, all, subject, func(r *render.Renderer, res Result) (Result, error) {
		res.run(r)
		return res, nil
	})
}

// pathOf returns the path of a file of a case as the user knows it, or that of
// the case's directory if file is empty.
func (m *Module) pathOf(c *Case, file string) string {
	return strings.TrimSuffix(m.Dir+"/tests/"+c.Name+"/"+file, "/")
}

// run runs the case: it renders the instances and compares the outcome with the
// goldens. It changes neither the module nor the case, so cases can run in parallel.
func (r *Result) run(with *render.Renderer) {
	if r.Case.instance == nil {
		r.Message = "has no " + instanceFile
		return
	}
	r.outcome = r.Case.render(with, r.Module.platform)
	r.Message, r.Detail = r.Case.compare(r.outcome)
}

// compare compares an outcome with the goldens. It returns an empty message if
// they agree. The detail helps to find the cause: the problems of a case that
// should render, the expected problems of one that should not, and a unified diff
// otherwise.
func (c *Case) compare(o outcome) (message, detail string) {
	switch {
	case c.graph != nil && c.errors != nil:
		return fmt.Sprintf("has both %s and %s; remove one, or rewrite them with --update", graphFile, errorFile), ""
	case c.graph == nil && c.errors == nil:
		return fmt.Sprintf("has neither %s nor %s; write one with --update", graphFile, errorFile), ""
	case c.graph != nil && o.graph == nil:
		return "must render, and doesn't", string(o.text())
	case c.errors != nil && o.graph != nil:
		return fmt.Sprintf("renders, and must have the problems in %s", errorFile), string(c.errors)
	case c.graph != nil:
		return diffGolden(graphFile, "renders something else", c.graph, o.graph)
	}
	return diffGolden(errorFile, "has other problems", c.errors, o.text())
}

// diffGolden returns the message and the difference if the golden and the outcome
// differ. The comparison is byte by byte, so a golden that was edited by hand may
// differ only in its formatting.
func diffGolden(file, message string, want, got []byte) (string, string) {
	d := diff.Diff(file, want, "what the module does", got)
	if len(d) == 0 {
		return "", ""
	}
	// The first line is a diff command, which was never run.
	_, d2, _ := strings.Cut(string(d), "\n")
	return message, d2
}
