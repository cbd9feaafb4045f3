package transform_test

import (
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/render"
)

// An instance that keeps a former version of a module is rendered by it, but refused by the
// policies of today, with the spec of today.
func TestFormer(t *testing.T) {
	t.Parallel()
	open := func(field, message, account string) (*render.Platform, []byte) {
		t.Helper()
		spec := v1alpha1.TransformSpec{ServiceAccountName: account, CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: `package app
#Input: {text: string}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: first: resource: {
		apiVersion: "v1", kind: "ConfigMap", metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
		data: ` + field + `: input.spec.text
	}
}
`}}
		if message != "" {
			spec.Policies = []v1alpha1.CueRef{{Type: v1alpha1.CueRefInline, Ref: "package policy\n#Policy: {\n\tinput: _\n\tnodes?: _\n\tviolations: [if input.spec.text == \"no\" {message: \"" + message + "\", path: \"spec.text\"}]\n}\n"}}
		}
		s, err := transform.Open(t.Context(), &modules.Opener{}, "app", spec, func(string) modules.Place { return modules.Place{} })
		if err != nil {
			t.Fatal(err)
		}
		decoded, data := encoded(t, s)
		p, err := decoded.Load()
		if err != nil {
			t.Fatal(err)
		}
		return p, data
	}
	old, former := open("old", "", "before")
	_, current := open("new", "is not allowed today", "today")
	data, err := transform.Former(former, current)
	if err != nil {
		t.Fatal(err)
	}
	again, err := transform.Former(former, current)
	if err != nil || transform.Digest(again) != transform.Digest(data) {
		t.Errorf("the same sources have another digest, %v", err)
	}
	s, err := transform.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if p.Module.Digest != old.Module.Digest || p.ServiceAccountName != "today" {
		t.Errorf("module %s, account %s", p.Module.Digest, p.ServiceAccountName)
	}
	for text, refused := range map[string]bool{"yes": false, "no": true} {
		manifest := []byte("{apiVersion: pequod.io/v1alpha1, kind: App, metadata: {name: x, namespace: d}, spec: {text: '" + text + "'}}")
		for in, ps := range render.Instances("instance", manifest) {
			r := render.Renderer{}
			result := r.Render(in, p)
			if ps = append(ps, result.Problems...); ps.Failed() != refused {
				t.Errorf("%s: %v", text, ps)
			}
		}
	}
}
