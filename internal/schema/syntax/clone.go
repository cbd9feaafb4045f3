package syntax

import (
	"reflect"

	"cuelang.org/go/cue/ast"
)

// unresolved is a deep copy of n in which no identifier is bound yet: CUE binds
// them anew where the copy is compiled. Positions stay.
func Unresolved(n ast.Node) ast.Node {
	return cloneOf(reflect.ValueOf(n)).Interface().(ast.Node)
}

func cloneOf(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(cloneOf(v.Elem()))
		return out
	case reflect.Pointer:
		if v.IsNil() || !v.Type().Implements(reflect.TypeFor[ast.Node]()) {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(v.Elem()) // with what isn't exported
		if id, ok := out.Interface().(*ast.Ident); ok {
			id.Node, id.Scope = nil, nil
			return out
		}
		for i := range out.Elem().NumField() {
			if f := out.Elem().Field(i); f.CanSet() {
				f.Set(cloneOf(f))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(cloneOf(v.Index(i)))
		}
		return out
	}
	return v
}
