package render

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"k8s.io/apimachinery/pkg/util/validation"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// SchemaPath is where a schema stands in a module, such as #Input or
// #Versions.v1beta1.#Input.
type SchemaPath string

// expr is the path as an expression.
func (p SchemaPath) expr() ast.Expr {
	parts := strings.Split(string(p), ".")
	return ast.NewSel(ast.NewIdent(parts[0]), parts[1:]...)
}

const inputPath SchemaPath = "#Input"

// versionDef is one entry of the module's #Versions.
type versionDef struct {
	Storage            bool   `json:"storage"`
	Served             *bool  `json:"served"`
	Deprecated         bool   `json:"deprecated"`
	DeprecationWarning string `json:"deprecationWarning"`
}

var versionFields = []string{"storage", "served", "deprecated", "deprecationWarning"}

// Definitions that a version may have beside its #Input: how its spec becomes
// that of the stored version, and back. Without them a spec stays as it is.
const (
	toStorage   = "#ToStorage"
	fromStorage = "#FromStorage"
)

func versionPath(version, def string) SchemaPath {
	return SchemaPath("#Versions." + version + "." + def)
}

// Schema is where the schema of a version's spec stands in the module.
func (p *Platform) Schema(version string) SchemaPath {
	if !p.versioned {
		return inputPath
	}
	return versionPath(version, "#Input")
}

// Version is the version that an instance is written in.
func (in *Instance) Version() string { return in.APIVersion[strings.LastIndex(in.APIVersion, "/")+1:] }

// versions reads #Versions: what the kind's versions are, and which one is
// stored.
func (b *built) versions() (all []v1alpha1.KindVersion, stored string, err error) {
	v := b.root.LookupPath(cue.ParsePath("#Versions"))
	if !v.Exists() {
		return nil, "", nil
	}
	it, err := v.Fields()
	if err != nil {
		return nil, "", cueerror.Problems(err)
	}
	var ps problem.List
	problem := func(v cue.Value, path, hint, format string, args ...any) {
		ps = append(ps, problem.Problem{
			Position: cuesyntax.Position(v.Pos()), Path: strings.TrimSuffix("#Versions."+path, "."), Rule: problem.RuleModule, Hint: hint, Message: fmt.Sprintf(format, args...),
		})
	}
	for it.Next() {
		name, v := it.Selector().Unquoted(), it.Value()
		if msgs := validation.IsDNS1035Label(name); len(msgs) > 0 {
			problem(v, name, "", "not a version: %s", nameRule(msgs))
			continue
		}
		if !v.LookupPath(cue.MakePath(cue.Def("Input"))).Exists() {
			problem(v, name, "", "has no #Input")
		}
		fields, err := v.Fields(cue.Optional(true))
		if err != nil {
			return nil, "", cueerror.Problems(err)
		}
		for fields.Next() {
			if f := fields.Selector().Unquoted(); !slices.Contains(versionFields, f) {
				problem(fields.Value(), name+"."+f, source.Hint(f, versionFields), "unknown field")
			}
		}
		var def versionDef
		if err := v.Decode(&def); err != nil {
			return nil, "", cueerror.Problems(err)
		}
		kv := v1alpha1.KindVersion{
			Name: name, Served: def.Served == nil || *def.Served,
			Deprecated: def.Deprecated, DeprecationWarning: def.DeprecationWarning,
		}
		if def.Storage {
			if stored != "" {
				problem(v, name, "", "is stored, and so is %s; one version is", stored)
			}
			stored = name
		}
		all = append(all, kv)
	}
	if stored == "" && len(all) == 1 {
		stored = all[0].Name
	}
	if stored == "" && len(ps) == 0 {
		problem(v, "", "say storage: true in one of them", "no version is stored")
	}
	// In the order in which the API server prefers them: v2, v1, v1beta1, …
	slices.SortStableFunc(all, func(a, b v1alpha1.KindVersion) int {
		return -apiversion.CompareKubeAwareVersionStrings(a.Name, b.Name)
	})
	return all, stored, ps.Err()
}

// stated evaluates an instance of a version that isn't stored: its metadata is
// what #Render takes, its spec what the version takes.
func (b *built) stated(schema SchemaPath) evalFunc {
	return func(data *ast.StructLit) cue.Value {
		input := withSchema(data, schema)
		for _, d := range input.Elts {
			if f := d.(*ast.Field); cuesyntax.LabelName(f.Label) == "metadata" {
				rule := ast.NewSel(ast.NewIdent("#Render"), "input", "metadata")
				f.Value = ast.NewBinExpr(token.AND, rule, f.Value)
			}
		}
		return b.in(ast.NewStruct("input", input))
	}
}

// converted renders an instance of a version that isn't stored: its spec, with
// the defaults of its version, becomes one of the stored version first.
func (b *built) converted(data *ast.StructLit, p *Platform, version string) (cue.Value, problem.List) {
	value, problems := b.convert(version, toStorage, p.Schema(version), cuesyntax.Field(data, "spec").Value)
	if len(problems) > 0 {
		return cue.Value{}, problems
	}
	spec := cuesyntax.Data(value)
	now := &ast.StructLit{Lbrace: data.Lbrace}
	for _, d := range data.Elts {
		f := d.(*ast.Field)
		if cuesyntax.LabelName(f.Label) == "spec" {
			f = &ast.Field{Label: f.Label, Value: spec}
		}
		now.Elts = append(now.Elts, f)
	}
	v := b.rendered(p.Schema(p.Version))(now)
	if err := inputError(v); err != nil {
		at := b.root.LookupPath(cue.ParsePath(string(versionPath(version, toStorage))))
		e := cueerror.Causes(cueerror.List(err))[0]
		return v, problem.List{{
			Position: cuesyntax.Position(at.Pos()), Path: cueerror.Path(e), Rule: problem.RuleModule,
			Message: fmt.Sprintf("conversion from %s gives what %s refuses: %s", version, p.Version, cueerror.Message(e)),
		}}
	}
	return v, nil
}

// convert evaluates one of a version's conversions over a spec, whose schema
// gives it its defaults; without the conversion the spec stays as it is.
func (b *built) convert(version, conversion string, schema SchemaPath, spec ast.Expr) (any, problem.List) {
	path := versionPath(version, conversion)
	if !b.root.LookupPath(cue.ParsePath(string(path))).Exists() {
		return b.settled(schema, spec)
	}
	input := ast.NewBinExpr(token.AND, schema.expr(), spec)
	v := b.in(ast.NewBinExpr(token.AND, path.expr(), ast.NewStruct("input", input)))
	out := v.LookupPath(cue.MakePath(cue.Str("output")))
	if !out.Exists() {
		return nil, problem.List{{Position: cuesyntax.Position(v.Pos()), Path: string(path) + ".output", Rule: problem.RuleModule, Message: "missing"}}
	}
	d := &decoder{}
	value := d.any(out, string(path)+".output", nil)
	return value, d.problems.Sorted()
}

// settled gives a spec with the defaults of its schema.
func (b *built) settled(schema SchemaPath, spec ast.Expr) (any, problem.List) {
	d := &decoder{}
	value := d.any(b.in(ast.NewBinExpr(token.AND, schema.expr(), spec)), "spec", nil)
	return value, d.problems.Sorted()
}
