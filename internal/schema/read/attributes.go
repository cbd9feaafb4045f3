package read

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// attributes reads the @k8s attributes of the field v. Declared is the position
// for errors. An unknown argument is an error, because nothing else would report
// a misspelling. The result is nil without attributes. A field may have several
// attributes, as in @k8s(immutable) @k8s(listType=set), whose arguments add up.
// Arguments that need each other must be in one attribute. Whether an argument
// fits the type of the field is checked when the schema is written.
func (r *reader) attributes(v cue.Value, declared token.Pos, in context) *shape.Attributes {
	for _, a := range v.Attributes(cue.DeclAttr) {
		if a.Name() == syntax.AttributeName {
			r.fail(errors.Newf(declared, "%s: @%s(%s) belongs behind a field, not in a struct", in.path, syntax.AttributeName, a.Contents()))
		}
	}
	var out *shape.Attributes
	for _, a := range v.Attributes(cue.FieldAttr) {
		if a.Name() != syntax.AttributeName {
			continue
		}
		if out == nil {
			out = &shape.Attributes{Pos: positionOf(declared)}
		}
		for i := range a.NumArgs() {
			key, value := a.Arg(i)
			if err := setArgument(out, key, value); err != "" {
				r.fail(errors.Newf(declared, "%s: @%s(%s): %s", in.path, syntax.AttributeName, a.Contents(), err))
			}
		}
		switch {
		// The API server demands the keys of a list map, and allows them nowhere
		// else.
		case (out.ListType == "map") != (len(out.ListMapKeys) > 0):
			r.fail(errors.Newf(declared, "%s: @%s(%s): listType=map and listMapKey go together", in.path, syntax.AttributeName, a.Contents()))
		case out.ScaleSelector != "" && !out.Scale:
			r.fail(errors.Newf(declared, "%s: @%s(%s): scaleSelector without scale", in.path, syntax.AttributeName, a.Contents()))
		case out.Priority != 0 && out.Column == "":
			r.fail(errors.Newf(declared, "%s: @%s(%s): priority without printerColumn", in.path, syntax.AttributeName, a.Contents()))
		}
	}
	return out
}

// setArgument sets one argument of an attribute. It returns what is wrong with
// it, or the empty string. It is called once for each argument. Arguments without
// a value, such as immutable, have the empty value.
func setArgument(a *shape.Attributes, key, value string) string {
	switch key {
	case "listType":
		if !slices.Contains([]string{"atomic", "set", "map"}, value) {
			return "listType is atomic, set or map"
		}
		a.ListType = value
	case "mapType":
		if !slices.Contains([]string{"atomic", "granular"}, value) {
			return "mapType is atomic or granular"
		}
		a.MapType = value
	case "listMapKey":
		if value == "" {
			return "listMapKey is the name of a field of the items"
		}
		if !slices.Contains(a.ListMapKeys, value) {
			a.ListMapKeys = append(a.ListMapKeys, value)
		}
	case "immutable":
		if value != "" {
			return "immutable has no value"
		}
		a.Immutable = true
	case "printerColumn":
		if value == "" {
			return "printerColumn is the name of a column"
		}
		a.Column = value
	case "priority":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return "priority is a number from 0 up"
		}
		a.Priority = int32(n)
	case "scale", "scaleSelector":
		if !strings.HasPrefix(value, ".status.") {
			return key + " is the path of a field of status, such as .status.replicas"
		}
		if key == "scale" {
			a.Scale, a.ScaleStatus = true, value
		} else {
			a.ScaleSelector = value
		}
	default:
		return "unknown argument " + strconv.Quote(key) + ", known are immutable, listMapKey, listType, mapType, printerColumn, priority, scale and scaleSelector"
	}
	return ""
}
