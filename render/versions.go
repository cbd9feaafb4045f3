package render

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"k8s.io/apimachinery/pkg/util/validation"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// SchemaPath is the path of a schema in a module, such as #Input or
// #Versions.v1beta1.#Input.
type SchemaPath string

// expr returns the path as a CUE expression.
func (p SchemaPath) expr() ast.Expr {
	parts := strings.Split(string(p), ".")
	return ast.NewSel(ast.NewIdent(parts[0]), parts[1:]...)
}

// inputPath is the schema of a module without #Versions.
const inputPath SchemaPath = "#Input"

// versionDef is one entry of the module's #Versions. Served is true if it is not
// given.
type versionDef struct {
	Storage            bool   `json:"storage"`
	Served             *bool  `json:"served"`
	Deprecated         bool   `json:"deprecated"`
	DeprecationWarning string `json:"deprecationWarning"`
	// Loses are the fields of the stored version that this version has no place
	// for, such as spec.readers or spec.ports[].name. RoundTrip accepts that they
	// are lost, with what is in them.
	Loses []string `json:"loses"`
}

// versionFields are the regular fields that a version may have.
var versionFields = []string{"storage", "served", "deprecated", "deprecationWarning", "loses"}

// versionPath returns the path of a definition in a version.
func versionPath(version, def string) SchemaPath {
	return SchemaPath("#Versions." + version + "." + def)
}

// versions reads #Versions: the versions of the kind in the order in which the
// API server prefers them, and the name of the stored one. Both are empty if
// the module has no #Versions. If there is only one version, it is stored.
//
// A module has versions in this form:
//
//	#Versions: {
//		v1beta1: {deprecated: true, #Input: {...}, #ToStorage: {...}}
//		v1: {storage: true, #Input: {...}}
//	}
func (b *builtModule) versions() (all []v1alpha1.KindVersion, stored string, err error) {
	v := b.root.LookupPath(cue.ParsePath("#Versions"))
	if !v.Exists() {
		return nil, "", nil
	}
	it, err := v.Fields()
	if err != nil {
		return nil, "", cueerror.Problems(err)
	}
	var ps problem.List
	add := func(v cue.Value, path, hint, format string, args ...any) {
		ps = append(ps, problem.Problem{
			Position: cuesyntax.Position(v.Pos()), Path: strings.TrimSuffix("#Versions."+path, "."),
			Rule: problem.RuleModule, Hint: hint, Message: fmt.Sprintf(format, args...),
		})
	}
	for it.Next() {
		name, v := it.Selector().Unquoted(), it.Value()
		if msgs := validation.IsDNS1035Label(name); len(msgs) > 0 {
			add(v, name, "", "not a version: %s", nameRule(msgs))
			continue
		}
		if !v.LookupPath(cue.MakePath(cue.Def("Input"))).Exists() {
			add(v, name, "", "has no #Input")
		}
		fields, err := v.Fields(cue.Optional(true))
		if err != nil {
			return nil, "", cueerror.Problems(err)
		}
		for fields.Next() {
			if f := fields.Selector().Unquoted(); !slices.Contains(versionFields, f) {
				add(fields.Value(), name+"."+f, source.Hint(f, versionFields), "unknown field")
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
				add(v, name, "", "is stored, and so is %s; one version is", stored)
			}
			stored = name
		}
		all = append(all, kv)
	}
	if stored == "" && len(all) == 1 {
		stored = all[0].Name
	}
	if stored == "" && len(ps) == 0 {
		add(v, "", "say storage: true in one of them", "no version is stored")
	}
	// v2, v1, v1beta1, …
	slices.SortStableFunc(all, func(a, b v1alpha1.KindVersion) int {
		return -apiversion.CompareKubeAwareVersionStrings(a.Name, b.Name)
	})
	return all, stored, ps.Err()
}
