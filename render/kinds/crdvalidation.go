package kinds

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/problem"
)

// validateCustom validates an object of a custom kind, see [Custom.Validate]. For a
// built-in kind it returns nothing.
func (c *Catalog) validateCustom(apiVersion, kind string, object map[string]any) problem.List {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil // Lookup reported it
	}
	custom, err := c.customOf(schema.GroupKind{Group: gv.Group, Kind: kind})
	if custom == nil || err != nil {
		return nil // Lookup reported the error
	}
	return custom.Validate(gv.Version, object)
}

// Validate validates an object with the API server's own code: required fields,
// bounds, patterns, enumerations, sets, and the CEL rules of the definition. All
// fields of the object must be known and of the right type. For a version that is
// not served it returns nothing.
//
// The steps are those of the API server, in its order: prune nulls, set defaults,
// validate the schema and the lists, and run the CEL rules. At the end, errors
// about late references are dropped.
func (c *Custom) Validate(version string, object map[string]any) problem.List {
	v := c.versions[version]
	if v == nil {
		return nil // Lookup reports it
	}
	// The API server prunes nulls and sets defaults before it validates. Both
	// change the object in place.
	object = runtime.DeepCopyJSON(object)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, v.structural)
	defaulting.Default(object, v.structural)
	errs := validation.ValidateCustomResource(nil, object, v.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	// Like the API server, run CEL rules only on objects that match the schema.
	// The budget is that of one request.
	if len(errs) == 0 {
		if rules := v.rules(); rules != nil {
			errs, _ = rules.Validate(context.Background(), nil, v.structural, object, nil, celconfig.RuntimeCELCostBudget)
		}
	}
	// The validator takes a late reference for an ordinary map.
	late := reference.Find(object)
	var latePaths []string
	for _, f := range late.From {
		latePaths = append(latePaths, f.Path.String())
	}
	for _, g := range late.Generate {
		latePaths = append(latePaths, g.Path.String())
	}
	var found problem.List
	for _, e := range errs {
		path := pathOf(e.Field).String()
		// The value of a late reference is not known, so neither it nor
		// anything around it can be judged.
		if slices.ContainsFunc(latePaths, func(late string) bool { return related(path, late) }) {
			continue
		}
		found = append(found, *newProblem(path, messageOf(e), ""))
	}
	return found
}

// related reports whether one of two paths contains the other, or they are equal:
// spec.a and spec.a.b are related, spec.a and spec.ab are not. The empty path,
// that of the object itself, is related to all.
func related(a, b string) bool {
	in := func(outer, inner string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
	}
	return in(a, b) || in(b, a)
}

// pathElement matches the first element of a path as the API server writes it.
var pathElement = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.?([^.\[]+)|^\[([^\]]*)\]`) })

// pathOf parses the path of an error of the API server, which writes list
// indexes and map keys alike: spec.list[0].name and spec.map[key].
func pathOf(fieldPath string) reference.Path {
	var path reference.Path
	for fieldPath != "" && fieldPath != "<nil>" {
		m := pathElement().FindStringSubmatch(fieldPath)
		if m == nil {
			break
		}
		if n, err := strconv.Atoi(m[2]); err == nil && m[1] == "" {
			path = append(path, n)
		} else {
			path = append(path, m[1]+m[2])
		}
		fieldPath = fieldPath[len(m[0]):]
	}
	return path
}

// messageOf returns the message for an error of the API server, in the words that
// other problems have. A detail such as "spec.port in body should be less than
// 10" loses its beginning, as the path of the problem says it already.
func messageOf(e *field.Error) string {
	switch e.Type {
	case field.ErrorTypeRequired:
		return "missing"
	case field.ErrorTypeDuplicate:
		return "is in the list already"
	case field.ErrorTypeNotSupported:
		return fmt.Sprintf("%q is not one of %s", fmt.Sprint(e.BadValue), strings.TrimPrefix(e.Detail, "supported values: "))
	}
	detail := strings.Join(strings.Fields(e.Detail), " ")
	_, rest, found := strings.Cut(detail, " in body ")
	if found {
		detail = rest
	}
	if detail == "" {
		return strings.Join(strings.Fields(e.ErrorBody()), " ")
	}
	return detail
}
