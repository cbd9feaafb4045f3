package vet

import (
	"encoding/json"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// maxConcrete limits the number of samples that are rendered like instances.
const maxConcrete = 60

// renderConcrete renders the samples whose input is complete like real instances,
// and reports what fails. Evaluating a sample alone doesn't show values that stay
// incomplete, because in a sample that may be the fault of the input. A sample
// that a violation refuses is no instance, and one that the renderer's own checks
// of the input refuse is none either. Samples get generated strings here and not
// before, because checks of values would report them.
func (c *checker) renderConcrete(samples []renderedGraph, allowSecrets bool) {
	r := newConcrete(allowSecrets)
	for _, g := range samples {
		c.guarded(func() {
			for _, q := range r.render(c, g).Problems {
				if isModuleFault(q) && !c.looksUpGenerated(q) && !c.blames(q.Position) {
					q.Instance, q.InstanceAt = "", problem.Position{}
					c.report(q)
				}
			}
		})
	}
}

// concrete renders samples like instances, up to [maxConcrete].
type concrete struct {
	renderer render.Renderer
	left     int
}

func newConcrete(allowSecrets bool) *concrete {
	return &concrete{render.Renderer{Options: render.Options{AllowSecrets: allowSecrets}}, maxConcrete}
}

// render renders a sample. The result is empty if its input is incomplete or refused, and after
// the last sample that may be rendered.
func (r *concrete) render(c *checker, g renderedGraph) render.Result {
	if r.left == 0 {
		return render.Result{}
	}
	if g.complete != nil {
		var ok bool
		if g, ok = c.render(g.complete); !ok {
			return render.Result{}
		}
	}
	in := c.instance(g)
	if g.refused() || in == nil {
		return render.Result{}
	}
	r.left--
	return r.renderer.Render(in, c.platform.WithoutRules())
}

// sampleFile is the name of the file that instances made from samples have.
const sampleFile = "sample"

// instance returns a sample as an instance, or nil if its input is incomplete.
func (c *checker) instance(g renderedGraph) *render.Instance {
	spec := g.value.LookupPath(inputPath).LookupPath(cue.ParsePath("spec"))
	if spec.Validate(cue.Concrete(true)) != nil {
		return nil
	}
	object := map[string]any{
		"apiVersion": c.platform.Group + "/" + c.platform.Version, "kind": c.platform.Kind,
		"metadata": map[string]any{"name": sampleName, "namespace": sampleName}, "spec": spec,
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil // a value that JSON can't represent
	}
	for in, problems := range render.Instances(sampleFile, data) {
		if in != nil && !problems.Failed() && !in.SetNamespaces(c.platform, sampleName).Failed() {
			return in
		}
	}
	return nil
}

// moduleFaults are the beginnings of CUE's messages about an output that no input
// value explains.
var moduleFaults = []string{"incomplete value", "cannot reference optional field", "index out of range", undefinedField, "non-concrete value"}

// undefinedField is the beginning of CUE's message about a field that a struct lacks.
const undefinedField = "undefined field"

// isModuleFault reports whether q is a mistake of the module. Errors that depend
// on values that samples invent are left out, since real instances have others.
func isModuleFault(q problem.Problem) bool {
	switch {
	case q.Severity != problem.Error || q.Position.File == sampleFile || isPlaceholder(q.Message):
		return false
	case q.Rule == problem.RuleSecret:
		return true
	}
	return q.Rule == problem.RuleModule && slices.ContainsFunc(moduleFaults, func(m string) bool { return strings.HasPrefix(q.Message, m) })
}

// looksUpGenerated reports whether q is about a field with the name of a generated
// string: a table of the module lacks it, as it would lack a placeholder.
func (c *checker) looksUpGenerated(q problem.Problem) bool {
	name, ok := strings.CutPrefix(q.Message, undefinedField)
	return ok && slices.ContainsFunc(c.generated, func(s string) bool { return strings.Contains(name, s) })
}

// blames reports whether an error was reported at a position.
func (c *checker) blames(at problem.Position) bool {
	return slices.ContainsFunc(c.problems, func(p problem.Problem) bool { return p.Severity == problem.Error && p.Position == at })
}
