package tree

import (
	"go/types"
	"path/filepath"
	"testing"
)

// maxFields is how many fields a struct with methods may have. A larger one is
// several things that change for different reasons.
const maxFields = 20

// largerStructs lists the structs that exceed maxFields.
var largerStructs = map[string]bool{}

// TestStructs checks that no struct with methods has more than maxFields fields.
// Plain data, such as the kinds of the API, may have as many as their formats
// need; so may generated code.
func TestStructs(t *testing.T) {
	for _, p := range packages(t) {
		fset, pkg, _ := p.check(t)
		for _, name := range pkg.Scope().Names() {
			object, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() {
				continue
			}
			named := object.Type().(*types.Named)
			s, ok := named.Underlying().(*types.Struct)
			if !ok || s.NumFields() <= maxFields || !hasBehavior(named) || largerStructs[p.dir+"."+name] {
				continue
			}
			at := fset.Position(object.Pos())
			t.Errorf("%s/%s:%d: %s has %d fields and methods, more than %d",
				p.dir, filepath.Base(at.Filename), at.Line, name, s.NumFields(), maxFields)
		}
	}
}

// hasBehavior reports whether a type has methods besides generated deep copies.
func hasBehavior(named *types.Named) bool {
	for m := range named.Methods() {
		switch m.Name() {
		case "DeepCopy", "DeepCopyInto", "DeepCopyObject":
		default:
			return true
		}
	}
	return false
}
