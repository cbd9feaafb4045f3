package kinds

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/internal/source"
)

// Type is the type of a value in an object.
//
// Types of built-in kinds come from the table and may be recursive. Types of custom
// kinds come from their schemas. A Type is not changed once it is in use.
type Type struct {
	// kind is one of the constants below.
	kind   string
	fields map[string]*Type // of a struct
	elem   *Type            // of the values of a list or a map
	// required are the names of the required fields of a struct, sorted. They
	// are empty for custom kinds, whose required fields the API server's code
	// checks.
	required []string
	// enum holds the values of a string, or is empty if any is valid.
	enum []string
	// open means that a struct may have fields that are not in fields.
	open bool
}

// The values of Type.kind. The table forms has what each accepts.
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

// JSON is a set of JSON types.
type JSON int

// The JSON types. A Number is one that is not an Integer.
const (
	Boolean JSON = 1 << iota
	Integer
	Number
	String
	List
	Map
	Any = Boolean | Integer | Number | String | List | Map
)

// forms has the JSON types of the valid values of each kind of type, and the words
// that describe such a value.
var forms = map[string]struct {
	accepts JSON
	words   string
}{
	kindStruct:      {Map, "a struct"},
	kindMap:         {Map, "a struct"},
	kindList:        {List, "a list"},
	kindString:      {String, "a string"},
	kindTime:        {String, "a string"},
	kindBytes:       {String, "base64 text"},
	kindBool:        {Boolean, "true or false"},
	kindInt32:       {Integer, "an integer"},
	kindInt64:       {Integer, "an integer"},
	kindNumber:      {Integer | Number, "a number"},
	kindQuantity:    {String | Integer | Number, `a quantity such as 2, "500m" or "1Gi"`},
	kindIntOrString: {String | Integer, "an integer or a string"},
	kindAny:         {Any, "anything"},
}

// Accepts returns the JSON types of valid values. Null is not among them,
// because it counts as not given everywhere.
func (t *Type) Accepts() JSON { return forms[t.kind].accepts }

// Words describes a valid value for a message, such as "an integer". The words
// are those of problems, not the names of the types.
func (t *Type) Words() string { return forms[t.kind].words }

// Field returns the type of a field, or nil if the type has no such field. An
// open struct and the any type have every field, of any type.
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

// Fields returns the names of the fields of a struct, sorted.
func (t *Type) Fields() []string { return slices.Sorted(maps.Keys(t.fields)) }

// Missing returns the required fields of a struct that are not among those given.
// It leaves out a field if a given name is a misspelling of it, because the
// misspelling is reported as an unknown field with a hint. For custom kinds it
// returns nothing, since the API server's own code checks those.
func (t *Type) Missing(given []string) []string {
	var missing, misspelt []string
	for _, name := range given {
		if t.Field(name) == nil {
			misspelt = append(misspelt, source.Nearest(name, t.Fields()))
		}
	}
	for _, name := range t.required {
		if !slices.Contains(given, name) && !slices.Contains(misspelt, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// Elem returns the type of the items of a list, or nil for other types. Items of
// the any type are of any type.
func (t *Type) Elem() *Type {
	switch t.kind {
	case kindList:
		return t.elem
	case kindAny:
		return anyType()
	}
	return nil
}

// anyType returns the type that admits every value.
func anyType() *Type { return &Type{kind: kindAny} }
