package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// server judges documents the way an API server would, from its own code.
type server struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func newServer(spec *props) (*server, error) {
	root := &props{Type: "object", Properties: map[string]props{"spec": *spec}}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(root, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &server{structural, validator, cel.NewValidator(structural, false, celconfig.PerCallLimit)}, nil
}

func (s *server) accepts(doc any) bool {
	data, err := json.Marshal(map[string]any{"spec": doc})
	if err != nil {
		return false
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return false
	}
	object = integers(object).(map[string]any)
	if len(pruning.PruneWithOptions(object, s.structural, false, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})) > 0 {
		return false
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	if len(validation.ValidateCustomResource(nil, object, s.validator)) > 0 || len(listtype.ValidateListSetsAndMaps(nil, s.structural, object)) > 0 {
		return false
	}
	errs, _ := s.rules.Validate(context.Background(), field.NewPath("root"), s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return len(errs) == 0
}

// integers turns whole floats into int64, as the API server reads JSON.
func integers(v any) any {
	switch x := v.(type) {
	case float64:
		if x == float64(int64(x)) {
			return int64(x)
		}
	case map[string]any:
		for k := range x {
			x[k] = integers(x[k])
		}
	case []any:
		for i := range x {
			x[i] = integers(x[i])
		}
	}
	return v
}

// random makes schemas and documents that often have to do with each other.
type random struct{ *rand.Rand }

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

func value(v any) apiextensionsv1.JSON {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return apiextensionsv1.JSON{Raw: data}
}

var fieldNames = []string{"a", "b", "c"}

func (r random) schema(depth int) *props {
	s := &props{Nullable: r.chance(15)}
	kinds := 8
	if depth <= 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0, 1:
		s.Type = "integer"
		if r.chance(30) {
			s.Type = "number"
		} else if r.chance(30) {
			s.Format = []string{"int32", "int64"}[r.IntN(2)]
		}
		if r.chance(40) {
			s.Minimum = new(float64(r.IntN(4)))
			s.ExclusiveMinimum = r.chance(30)
		}
		if r.chance(40) {
			s.Maximum = new(float64(3 + r.IntN(4)))
			s.ExclusiveMaximum = r.chance(30)
		}
		if r.chance(15) {
			s.MultipleOf = new(float64(1 + r.IntN(3)))
		}
		r.finish(s, 1)
	case 2, 3:
		s.Type = "string"
		if r.chance(30) {
			s.MaxLength = new(int64(r.IntN(4)))
		}
		if r.chance(30) {
			s.MinLength = new(int64(r.IntN(2)))
		}
		if r.chance(20) {
			s.Pattern = []string{"^x", "x$", "^[a-z]*$"}[r.IntN(3)]
		}
		if r.chance(25) {
			s.Enum = []apiextensionsv1.JSON{value("x")}
			if r.chance(60) {
				s.Enum = append(s.Enum, value("xx"))
			}
			s.MaxLength, s.MinLength, s.Pattern = nil, nil, ""
		}
		r.finish(s, "x")
	case 4:
		s.Type = "boolean"
		if r.chance(30) {
			return &props{XIntOrString: true}
		}
	case 5:
		s.Type = "array"
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: r.schema(depth - 1)}
		s.Items.Schema.Default = nil
		if r.chance(30) {
			s.MaxItems = new(int64(1 + r.IntN(3)))
		}
		if r.chance(30) {
			s.MinItems = new(int64(r.IntN(2)))
		}
	case 6:
		s.Type = "object"
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: r.schema(depth - 1)}
		s.AdditionalProperties.Schema.Default = nil
		if r.chance(30) {
			s.MaxProperties = new(int64(1 + r.IntN(2)))
		}
	case 7:
		s.Type = "object"
		s.Properties = map[string]props{}
		for _, name := range fieldNames {
			if r.chance(70) {
				s.Properties[name] = *r.schema(depth - 1)
				if r.chance(40) {
					s.Required = append(s.Required, name)
				}
			}
		}
		if r.chance(15) {
			s.XPreserveUnknownFields = new(true)
		}
		if r.chance(15) {
			s.MaxProperties = new(int64(1 + r.IntN(3)))
		}
		r.relate(s)
	}
	return s
}

// relate adds rules and combinations about the fields of s.
func (r random) relate(s *props) {
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 || !r.chance(40) {
		return
	}
	one, other := names[r.IntN(len(names))], names[r.IntN(len(names))]
	required := func(name string) props { return props{Required: []string{name}} }
	switch r.IntN(8) {
	case 0:
		s.OneOf = nil
		for _, name := range names {
			s.OneOf = append(s.OneOf, required(name))
		}
	case 1:
		s.AnyOf = []props{required(one), required(other)}
	case 2:
		s.Not = &props{Required: []string{one, other}}
	case 3:
		s.AllOf = []props{{Not: new(required(one))}, {AnyOf: []props{required(other), {Not: new(required(one))}}}}
	default:
		s.XValidations = apiextensionsv1.ValidationRules{{Rule: fmt.Sprintf([]string{
			"!has(self.%s) || has(self.%s)", "!(has(self.%s) && has(self.%s))", "has(self.%[1]s)",
			"!has(self.%s)", "(has(self.%s) ? 1 : 0) + (has(self.%s) ? 1 : 0) <= 1", "has(self.%s) ? has(self.%s) : true",
		}[r.IntN(6)], one, other)}}
		if i := strings.Index(s.XValidations[0].Rule, "%!"); i >= 0 {
			s.XValidations[0].Rule = s.XValidations[0].Rule[:i]
		}
	}
}

// finish adds a default, if the schema takes it: the API server refuses
// definitions whose defaults don't hold.
func (r random) finish(s *props, v any) {
	if !r.chance(20) {
		return
	}
	if judge, err := newServer(s); err == nil && judge.accepts(v) {
		s.Default = new(value(v))
	}
}

// changed copies a schema with something replaced somewhere in it.
func (r random) changed(s *props, depth int) *props {
	n := s.DeepCopy()
	switch {
	case r.chance(25):
		return r.schema(depth)
	case n.Items != nil && n.Items.Schema != nil && r.chance(70):
		n.Items.Schema = r.changed(n.Items.Schema, depth-1)
		n.Items.Schema.Default = nil
	case n.AdditionalProperties != nil && r.chance(70):
		n.AdditionalProperties.Schema = r.changed(n.AdditionalProperties.Schema, depth-1)
		n.AdditionalProperties.Schema.Default = nil
	case len(n.Properties) > 0 && r.chance(20):
		r.relate(n)
	case len(n.Properties) > 0 && r.chance(85):
		name := fieldNames[r.IntN(len(fieldNames))]
		if p, ok := n.Properties[name]; ok && r.chance(75) {
			n.Properties[name] = *r.changed(&p, depth-1)
		} else if ok {
			delete(n.Properties, name)
			n.Required = slices.DeleteFunc(n.Required, func(s string) bool { return s == name })
			n.XValidations, n.AllOf, n.AnyOf, n.OneOf, n.Not = nil, nil, nil, nil, nil
		} else {
			n.Properties[name] = *r.schema(depth - 1)
			if r.chance(40) {
				n.Required = append(n.Required, name)
			}
		}
	default:
		other := r.schema(depth)
		if other.Type == n.Type && other.XIntOrString == n.XIntOrString {
			return other
		}
		n.Nullable = !n.Nullable && !n.XIntOrString
		n.Minimum, n.MaxLength, n.XValidations = nil, nil, nil
	}
	return n
}

// document makes a value that the schema might accept.
func (r random) document(s *props, depth int) any {
	if r.chance(6) || s == nil {
		return []any{nil, 1, "x", true, map[string]any{"a": 1}, []any{}, 2.5}[r.IntN(7)]
	}
	switch s.Type {
	case "integer", "number":
		if s.Type == "number" && r.chance(30) {
			return 0.5 + float64(r.IntN(6))
		}
		if r.chance(5) {
			return 1 << 40
		}
		return r.IntN(8)
	case "string":
		return []string{"", "x", "xx", "xyz", "X"}[r.IntN(5)]
	case "boolean":
		return r.chance(50)
	case "array":
		list := []any{}
		for range r.IntN(4) {
			list = append(list, r.document(s.Items.Schema, depth-1))
		}
		return list
	case "object":
		object := map[string]any{}
		for _, name := range fieldNames {
			p, ok := s.Properties[name]
			switch {
			case ok && r.chance(65):
				object[name] = r.document(&p, depth-1)
			case s.AdditionalProperties != nil && r.chance(40):
				object[name] = r.document(s.AdditionalProperties.Schema, depth-1)
			case keepsUnknown(s) && r.chance(30):
				object[name] = r.document(nil, depth-1)
			}
		}
		return object
	}
	return []any{1, "x"}[r.IntN(2)]
}

// disagreement looks for a document that is accepted by a schema and rejected
// by a changed one though Check finds nothing breaking between them.
func disagreement(seed uint64) error {
	r := random{rand.New(rand.NewPCG(seed, 1))}
	old := r.schema(3)
	changed := r.changed(old, 3)
	before, err := newServer(old)
	if err != nil {
		return nil // not a schema that a CRD could have
	}
	after, err := newServer(changed)
	if err != nil {
		return nil
	}
	changes := Check(around(*old), around(*changed))
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Breaking() }) {
		return nil
	}
	for range 40 {
		schema := old
		if r.chance(30) {
			schema = changed
		}
		doc := r.document(schema, 3)
		if before.accepts(doc) && !after.accepts(doc) {
			o, _ := json.Marshal(old)
			n, _ := json.Marshal(changed)
			d, _ := json.Marshal(doc)
			return fmt.Errorf("seed %d: %s was accepted and is rejected\nold: %s\nnew: %s\nverdict:\n%s", seed, d, o, n, lines(changes))
		}
	}
	return nil
}

// TestSafeMeansSafe holds the promise of the package over random pairs of
// schemas, with the API server's own code as the judge.
func TestSafeMeansSafe(t *testing.T) {
	judged := 0
	for seed := range uint64(6000) {
		if err := disagreement(seed); err != nil {
			t.Fatal(err)
		}
		judged++
	}
	t.Logf("%d pairs", judged)
}

func FuzzSafeMeansSafe(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		if err := disagreement(seed); err != nil {
			t.Fatal(err)
		}
	})
}
