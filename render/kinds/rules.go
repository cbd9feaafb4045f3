package kinds

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/pequod-io/pequod/api/reference"
)

// rules asks the API server's own code about an object of a custom kind whose
// fields are all known and of the right types: required fields, bounds,
// patterns, enumerations, sets, and the definition's CEL rules.
func (c *Catalog) rules(apiVersion, kind string, object map[string]any) []Problem {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil // Lookup told it
	}
	custom := c.custom[schema.GroupKind{Group: gv.Group, Kind: kind}]
	if custom == nil {
		return nil
	}
	v, problem := custom.version(gv.Version)
	if problem != nil {
		return nil // Lookup told it
	}
	object = runtime.DeepCopyJSON(object)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, v.structural)
	defaulting.Default(object, v.structural)
	errs := validation.ValidateCustomResource(nil, object, v.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	if len(errs) == 0 {
		if rules := cel.NewValidator(v.structural, true, celconfig.PerCallLimit); rules != nil {
			errs, _ = rules.Validate(context.Background(), nil, v.structural, object, nil, celconfig.RuntimeCELCostBudget)
		}
	}
	late := reference.Find(object)
	var places []string
	for _, f := range late.From {
		places = append(places, f.Path.String())
	}
	for _, g := range late.Generate {
		places = append(places, g.Path.String())
	}
	var found []Problem
	for _, e := range errs {
		path := pathOf(e.Field)
		// What a late reference yields isn't known, nor whether what it lies
		// in will pass.
		if slices.ContainsFunc(places, func(place string) bool { return related(path.String(), place) }) {
			continue
		}
		found = append(found, Problem{Path: path, Message: messageOf(e)})
	}
	return found
}

// related says whether one path leads to or through the other's place.
func related(a, b string) bool {
	in := func(outer, inner string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
	}
	return in(a, b) || in(b, a)
}

var step = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.?([^.\[]+)|^\[([^\]]*)\]`) })

// pathOf reads the path of an error of the API server: spec.list[0].name, and
// spec.map[key] for the keys of maps.
func pathOf(fieldPath string) reference.Path {
	var path reference.Path
	for fieldPath != "" && fieldPath != "<nil>" {
		m := step().FindStringSubmatch(fieldPath)
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

// messageOf is an error of the API server in the words of this project.
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
