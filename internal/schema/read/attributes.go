package read

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

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
	return r.arguments(v.Attributes(cue.FieldAttr), declared, in)
}

// ownRules reads the attributes inside of the definition v, which has no label of
// its own in an instance. They may only be rules.
func (r *reader) ownRules(v cue.Value, in context) *shape.Attributes {
	out := r.arguments(v.Attributes(cue.DeclAttr), v.Pos(), in)
	if out != nil && !reflect.DeepEqual(*out, shape.Attributes{Pos: out.Pos, Rules: out.Rules}) {
		r.fail(errors.Newf(v.Pos(), "%s: an attribute @%s in a struct can only be a rule", in.path, syntax.AttributeName))
	}
	return out
}

// arguments reads the @k8s attributes among attrs.
func (r *reader) arguments(attrs []cue.Attribute, declared token.Pos, in context) (out *shape.Attributes) {
	for _, a := range attrs {
		if a.Name() != syntax.AttributeName {
			continue
		}
		if out == nil {
			out = &shape.Attributes{Pos: positionOf(declared)}
		}
		var rule shape.OwnRule
		for i := range a.NumArgs() {
			key, value := a.Arg(i)
			err, ok := setRule(&rule, key, value)
			if !ok {
				err = setArgument(out, key, value)
			}
			if err != "" {
				r.fail(errors.Newf(declared, "%s: @%s(%s): %s", in.path, syntax.AttributeName, a.Contents(), err))
			}
		}
		if rule.Rule != "" {
			out.Rules = append(out.Rules, rule)
		}
		switch {
		case rule.Rule == "" && rule != (shape.OwnRule{}):
			r.fail(errors.Newf(declared, "%s: @%s(%s): the other arguments of a rule without rule", in.path, syntax.AttributeName, a.Contents()))
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

// setRule sets one argument of an attribute that is a rule. It returns what is wrong with it,
// or the empty string, and reports whether rules have such an argument.
func setRule(r *shape.OwnRule, key, value string) (wrong string, ok bool) {
	texts := map[string]*string{"rule": &r.Rule, "message": &r.Message, "messageExpression": &r.MessageExpression, "fieldPath": &r.FieldPath, "on": &r.On}
	switch text := texts[key]; {
	case key == "reason":
		r.Reason = new(apiextensionsv1.FieldValueErrorReason(value))
	case key == "optionalOldSelf":
		switch value {
		case "", "true", "false":
			r.OptionalOldSelf = new(value != "false")
		default:
			return "optionalOldSelf is true or false", true
		}
	case text == nil:
		return "", false
	case value == "":
		return key + " has no value", true
	case *text != "":
		return key + " is given twice: an attribute has one rule", true
	case key == "on" && strings.Trim(strings.NewReplacer("[]", "", ".*", "").Replace(value), " ") != "":
		return "on is [] for the items of a list or .* for the values of a map", true
	default:
		*text = value
	}
	return "", true
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
		return "unknown argument " + strconv.Quote(key) + ", known are immutable, listMapKey, listType, mapType, printerColumn, priority, rule, scale and scaleSelector"
	}
	return ""
}
