package kinds

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/internal/source"
)

// Type is the type of a value in an object.
type Type struct {
	kind string
	// fields are those of a struct, elem is what a list or a map holds.
	fields map[string]*Type
	elem   *Type
	// required are the fields of a struct that must be given, in order.
	required []string
	// enum lists what a string may be, where that is known.
	enum []string
	// open structs hold fields that they don't name.
	open bool
}

// The kinds of type.
const (
	kindStruct      = "struct"
	kindList        = "list"
	kindMap         = "map"
	kindString      = "string"
	kindBool        = "bool"
	kindInt32       = "int32"
	kindInt64       = "int64"
	kindNumber      = "number"
	kindBytes       = "bytes"
	kindTime        = "time"
	kindQuantity    = "quantity"
	kindIntOrString = "int-or-string"
	kindAny         = "any"
)

// JSON is a set of the types that JSON values have.
type JSON int

// The types of JSON values; an Integer is a Number too.
const (
	Boolean JSON = 1 << iota
	Integer
	Number
	String
	List
	Map
	Any = Boolean | Integer | Number | String | List | Map
)

// Accepts is what values of the type are in JSON. Null stands everywhere for a
// value that isn't given.
func (t *Type) Accepts() JSON {
	switch t.kind {
	case kindStruct, kindMap:
		return Map
	case kindList:
		return List
	case kindString, kindBytes, kindTime:
		return String
	case kindBool:
		return Boolean
	case kindInt32, kindInt64:
		return Integer
	case kindNumber:
		return Integer | Number
	case kindQuantity:
		return String | Integer | Number
	case kindIntOrString:
		return String | Integer
	}
	return Any
}

// Words says what a value must be: a list, an integer.
func (t *Type) Words() string {
	switch t.kind {
	case kindStruct, kindMap:
		return "a struct"
	case kindList:
		return "a list"
	case kindString, kindTime:
		return "a string"
	case kindBytes:
		return "base64 text"
	case kindBool:
		return "true or false"
	case kindInt32, kindInt64:
		return "an integer"
	case kindNumber:
		return "a number"
	case kindQuantity:
		return `a quantity such as 2, "500m" or "1Gi"`
	case kindIntOrString:
		return "an integer or a string"
	}
	return "anything"
}

// Field gives the type of a field, nil where the type has no such field. A type
// whose fields aren't known gives itself a field of any type.
func (t *Type) Field(name string) *Type {
	if f := t.fields[name]; f != nil {
		return f
	}
	switch {
	case t.kind == kindMap:
		return t.elem
	case t.open || t.kind == kindAny:
		return anyType()
	}
	return nil
}

// Fields lists the fields that a struct names.
func (t *Type) Fields() []string { return slices.Sorted(maps.Keys(t.fields)) }

// Missing lists the fields of a struct that must be given and aren't among those
// given, in order; without those that stand there under a slip of their name. Of
// custom kinds none are: the API server's own code asks for them.
func (t *Type) Missing(given []string) []string {
	var missing, slips []string
	for _, name := range given {
		if t.Field(name) == nil {
			slips = append(slips, source.Nearest(name, t.Fields()))
		}
	}
	for _, name := range t.required {
		if !slices.Contains(given, name) && !slices.Contains(slips, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// Elem gives the type of a list's elements, nil for other types.
func (t *Type) Elem() *Type {
	switch t.kind {
	case kindList:
		return t.elem
	case kindAny:
		return anyType()
	}
	return nil
}

func anyType() *Type { return &Type{kind: kindAny} }
