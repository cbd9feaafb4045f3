package crdgen

import (
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/schema/cel"
)

const attributedSchema = `
import "time"
#Input: {
	hosts: [...{name: string, port: int}] @k8s(listType=map,listMapKey=name)
	args?: [...string] @k8s(listType=atomic)
	labels?: {[string]: string} @k8s(mapType=atomic)
	region: string @k8s(immutable)
	// How large.
	// In words.
	size?: int @k8s(printerColumn="Size",priority=1)
	count: *1 | int & >=0 @k8s(scale=.status.replicas, scaleSelector=.status.outputs.selector)
	deep: {since?: time.Time @k8s(printerColumn=Since), "a.b"?: bool @k8s(printerColumn=Dotted)}
}
#Status: {
	url: string @k8s(printerColumn=URL)
	replicas?: int
}
`

func attributedResult(t *testing.T) *Result {
	t.Helper()
	module, input := moduleOf([]byte(attributedSchema))
	names := testNames()
	names.PrinterColumns = []v1alpha1.PrinterColumn{{Name: "Replicas", Type: "integer", JSONPath: ".status.replicas"}}
	result, err := Generate(map[string]cue.Value{names.Version: input}, statusOf(module), names)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestAttributes(t *testing.T) {
	result := attributedResult(t)
	spec := result.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	got := map[string]any{
		"hosts":  []any{*spec["hosts"].XListType, spec["hosts"].XListMapKeys},
		"args":   *spec["args"].XListType,
		"labels": *spec["labels"].XMapType,
	}
	want := map[string]any{"hosts": []any{"map", []string{"name"}}, "args": "atomic", "labels": "atomic"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	wantScale := &apiextensionsv1.CustomResourceSubresourceScale{
		SpecReplicasPath: ".spec.count", StatusReplicasPath: ".status.replicas", LabelSelectorPath: new(".status.outputs.selector"),
	}
	if diff := cmp.Diff(wantScale, result.CRD.Spec.Versions[0].Subresources.Scale); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"replicas", "url"}, OwnStatus(result.CRD)); diff != "" {
		t.Errorf("fields of #Status (-want +got)\n%s", diff)
	}
	var columns []string
	for _, c := range result.CRD.Spec.Versions[0].AdditionalPrinterColumns {
		columns = append(columns, strings.TrimSpace(c.Name+" "+c.Type+" "+c.JSONPath+" "+cel.Itoa(int64(c.Priority))+" "+c.Description))
	}
	wantColumns := []string{
		"Replicas integer .status.replicas 0",
		`Dotted boolean .spec.deep.a\.b 0`,
		"Since date .spec.deep.since 0",
		"Size integer .spec.size 1 How large.",
		"URL string .status.url 0",
		`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
		"Phase string .status.phase 0",
		"Nodes string .status.nodes.summary 0",
		`Reason string .status.conditions[?(@.type=="Ready")].reason 0`,
		"Age date .metadata.creationTimestamp 0",
		`Message string .status.conditions[?(@.type=="Ready")].message 1`,
	}
	if diff := cmp.Diff(wantColumns, columns); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestImmutableFieldsAreTransitionRules(t *testing.T) {
	s := newServer(t, attributedResult(t).CRD)
	old := []byte(`{hosts: [], region: a, deep: {}}`)
	if err := s.update(old, []byte(`{hosts: [], region: a, deep: {}, size: 3}`)); err != nil {
		t.Error(err)
	}
	err := s.update(old, []byte(`{hosts: [], region: b, deep: {}}`))
	if err == nil || !strings.Contains(err.Error(), "region can't be changed") {
		t.Errorf("a new region: %v", err)
	}
	if _, err := s.create([]byte(`{hosts: [{name: a, port: 1}, {name: a, port: 2}], region: a, deep: {}}`)); err == nil {
		t.Error("two hosts with one key: no error")
	}
}

func TestStatusFieldsJoinOurs(t *testing.T) {
	status := attributedResult(t).CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	for name, kind := range map[string]string{"url": "string", "replicas": "integer", "phase": "string", "conditions": "array"} {
		if got := status.Properties[name].Type; got != kind {
			t.Errorf("status.%s: %q, want %q", name, got, kind)
		}
	}
	if len(status.Required) > 0 {
		t.Errorf("required: %v; status is written bit by bit", status.Required)
	}
}

func TestStatusErrors(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"clash": {"#Status: {a: int, phase: string}", `status.phase: every generated kind has this field`},
		"open":  {"#Status: {a: int, ...}", `#Status: has to list its fields`},
		"union": {"#Status: {a: int} | {b: int}", `#Status: is a choice between structs`},
		"kind":  {"#Status: string", `#Status: is string: want a struct`},
	} {
		t.Run(name, func(t *testing.T) {
			module, input := moduleOf([]byte("#Input: {x?: int}\n" + test.schema))
			_, err := Generate(map[string]cue.Value{"v1alpha1": input}, statusOf(module), testNames())
			if err == nil || !strings.Contains(errorText(err), test.want) {
				t.Fatalf("error %v, want %s", err, test.want)
			}
			if text := errorText(err); !strings.Contains(text, "at schema.cue:2:") {
				t.Errorf("no position: %s", text)
			}
		})
	}
}

func TestAttributeErrors(t *testing.T) {
	for name, test := range map[string]struct{ field, want string }{
		"unknown":              {`a: int @k8s(imutable)`, `unknown argument "imutable"`},
		"listType":             {`a: [...string] @k8s(listType=sorted)`, `listType is atomic, set or map`},
		"not a list":           {`a: string @k8s(listType=set)`, `listType is for lists`},
		"no key":               {`a: [...{b: int}] @k8s(listType=map)`, `listType=map and listMapKey go together`},
		"wrong key":            {`a: [...{b: int}] @k8s(listType=map,listMapKey=c)`, `listMapKey c: the items have no such field`},
		"column":               {`a: [...int] @k8s(printerColumn=A)`, `a column shows a scalar`},
		"item column":          {`a: [...{b: int @k8s(printerColumn=B)}]`, `a column shows one field, not those of items`},
		"priority":             {`a: int @k8s(priority=1)`, `priority without printerColumn`},
		"immutable":            {`a: [...{b: int @k8s(immutable)}]`, `can't compare`},
		"untyped":              {`a: _ @k8s(immutable)`, `can't compare`},
		"pattern":              {`a: [string]: string @k8s(mapType=atomic)`, `belongs to a field`},
		"in a struct":          {"a: {b: int, @k8s(immutable)}", `belongs behind a field`},
		"optional key":         {`a: [...{b?: int}] @k8s(listType=map,listMapKey=b)`, `an API server refuses this @k8s attribute`},
		"set of structs":       {`a: [...{b?: int}] @k8s(listType=set)`, `an API server refuses this @k8s attribute`},
		"scaled string":        {`a: string @k8s(scale=.status.n)`, `the number of replicas is an integer`},
		"scale without a path": {`a: int @k8s(scale)`, `scale is the path of a field of status`},
		"scaled maybe":         {`a?: int @k8s(scale=.status.n)`, `give it a default, or require it`},
		"scaled twice":         {`a: int @k8s(scale=.status.outputs.n), b: int @k8s(scale=.status.outputs.n)`, `another field is scaled already, .spec.a`},
		"scale of nothing":     {`a: int @k8s(scale=.status.n)`, `#Status has no field n`},
		"scale of a text":      {`a: int @k8s(scale=.status.phase)`, `.status.phase is of type string: want integer`},
		"selector alone":       {`a: int @k8s(scaleSelector=.status.outputs.s)`, `scaleSelector without scale`},
		"condition":            {"b: bool\n\tif b {\n\t\ta: int @k8s(immutable)\n\t}", `an attribute can't depend on a condition`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := generate(inputOf(t, []byte("#Input: {\n\t"+test.field+"\n}")), testNames())
			if err == nil || !strings.Contains(errorText(err), test.want) {
				t.Fatalf("error %v, want %s", err, test.want)
			}
			if text := errorText(err); !strings.Contains(text, "at schema.cue:") {
				t.Errorf("no position: %s", text)
			}
		})
	}
}
