package syntax

import (
	"reflect"

	"cuelang.org/go/cue/ast"
)

// Unresolved returns a deep copy of n with unresolved identifiers, so that CUE
// resolves them again in the scope in which the copy is compiled. Positions are
// kept.
func Unresolved(n ast.Node) ast.Node {
	return cloneOf(reflect.ValueOf(n)).Interface().(ast.Node)
}

// cloneOf copies what holds nodes and shares everything else, such as comments'
// positions. It works by reflection rather than with a case for each of the many
// types of nodes.
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
		out.Elem().Set(v.Elem()) // including unexported fields
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
