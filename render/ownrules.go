package render

import (
	"errors"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// checkRules returns what the API server refuses of data that CUE accepts, at the fields of
// data: the rules in CEL that attributes such as @k8s(rule="self.min <= self.max") have. CUE
// can't evaluate them, so the API server's own code does. Transition rules are skipped, as
// if the instance were created.
func (b *builtModule) checkRules(data *ast.StructLit, p *Platform, version string) problem.List {
	if p.custom == nil {
		return nil
	}
	custom, err := p.custom()
	if found := problem.List(nil); errors.As(err, &found) {
		return found
	} else if err != nil {
		return problem.List{{Position: problem.Position{File: p.From}, Rule: problem.RuleModule, Message: err.Error()}}
	}
	object := (&decoder{}).value(b.ctx.BuildExpr(data), "", nil).(map[string]any)
	object["apiVersion"], object["kind"] = p.Group+"/"+version, p.Kind
	object["graphNamespace"] = "any" // it may not be known yet
	found := custom.Validate(version, object)
	for i := range found {
		found[i].Position, found[i].Rule = cuesyntax.PositionAt(data, fieldpath.Split(found[i].Path)), problem.RuleConstraint
	}
	return found
}
