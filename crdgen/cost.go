package crdgen

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// ruleCost is a rule with its cost as an API server estimates it, multiplied by
// how often the rule may run in one object. cost is in the units of the API
// server's estimate, and saturates at the largest uint64.
type ruleCost struct {
	ruleKey
	cost uint64
}

// costliest returns the rules of a schema that must be dropped for the rest to be
// within the API server's budget for all rules of a schema,
// validation.StaticEstimatedCRDCostLimit: those that are spared before others, the
// most expensive ones first, and rules of equal cost in a fixed order. The author's own
// rules are kept. The API server itself names at most four of them, in varying order.
func costliest(schema *apiextensions.JSONSchemaProps, spared, own map[ruleKey]bool) []ruleKey {
	var all []ruleCost
	costs(schema, "", validation.RootCELContext(schema), &all)
	slices.SortFunc(all, func(a, b ruleCost) int {
		if own[a.ruleKey] != own[b.ruleKey] {
			return map[bool]int{true: 1, false: -1}[own[a.ruleKey]]
		}
		if spared[a.ruleKey] != spared[b.ruleKey] && spared[a.ruleKey] {
			return -1
		} else if spared[b.ruleKey] && !spared[a.ruleKey] {
			return 1
		}
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.schema, b.schema), cmp.Compare(a.text, b.text))
	})
	var total uint64
	var out []ruleKey
	// From the cheapest upwards, so that as many rules as possible are kept.
	for _, r := range slices.Backward(all) {
		sum, carry := bits.Add64(total, r.cost, 0)
		if (carry != 0 || sum > validation.StaticEstimatedCRDCostLimit) && !own[r.ruleKey] {
			out = append(out, r.ruleKey)
			continue
		}
		if total = sum; carry != 0 {
			total = math.MaxUint64
		}
	}
	return out
}

// costs appends the rules of a schema, which is at the path at, and of the
// schemas inside of it. The context c knows how often the schema may occur in an
// object: a rule on the items of a list of at most 10 items runs 10 times.
func costs(s *apiextensions.JSONSchemaProps, at string, c *validation.CELSchemaContext, out *[]ruleCost) {
	// A schema without type information can't have rules.
	if info, err := c.TypeInfo(); err == nil && info != nil && len(s.XValidations) > 0 {
		env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		rules, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, env, cel.NewExpressionsEnvLoader())
		for i, r := range rules {
			if err != nil {
				break // The API server has reported the error already.
			}
			// Without a known maximum, the compiler's own estimate counts.
			times := r.MaxCardinality
			if c.MaxCardinality != nil {
				times = *c.MaxCardinality
			}
			over, cost := bits.Mul64(r.MaxCost, times)
			if over != 0 {
				cost = ^uint64(0)
			}
			*out = append(*out, ruleCost{ruleKey{at, s.XValidations[i].Rule}, cost})
		}
	}
	for name, child := range s.Properties {
		costs(&child, at+".properties["+name+"]", c.ChildPropertyContext(&child, name), out)
	}
	if s.Items != nil && s.Items.Schema != nil {
		costs(s.Items.Schema, at+".items", c.ChildItemsContext(s.Items.Schema), out)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		costs(s.AdditionalProperties.Schema, at+".additionalProperties", c.ChildAdditionalPropertiesContext(s.AdditionalProperties.Schema), out)
	}
}

// refuseCostliest marks the most expensive rules of every version whose rules
// together exceed the budget as refused. It reports whether it marked any. It is
// called only if no single rule was refused, so that only the total is exceeded.
func refuseCostliest(versions []*version, crd *apiextensionsv1.CustomResourceDefinition, problems fieldpath.ErrorList) (bool, error) {
	if !slices.ContainsFunc(problems, ofTotal) {
		return false, nil
	}
	internal, err := internalOf(crd)
	if err != nil {
		return false, err
	}
	found := false
	for i, v := range versions {
		schema, err := apiextensions.GetSchemaForVersion(internal, crd.Spec.Versions[i].Name)
		if err != nil {
			return false, err
		}
		for _, k := range costliest(schema.OpenAPIV3Schema, v.spared, v.own) {
			v.refused[k] = true
			found = true
		}
	}
	return found, nil
}
