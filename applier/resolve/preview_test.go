package resolve

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestPreview(t *testing.T) {
	for _, test := range []struct {
		name, data, want string
		unknown          []string
	}{
		{"known", `{a: {$from: service.spec.clusterIP}}`, `{a: 10.0.0.1}`, nil},
		{"unknown", `{a: {$from: service.status.x}, b: {$from: service.spec.clusterIP}}`, `{b: 10.0.0.1}`,
			[]string{"data.a: waits for service.status"}},
		{"element", `{l: [{$from: service.spec.clusterIP}, {$from: service.status.x}, {y: {$from: service.status.y}}], m: n}`, `{m: n}`,
			[]string{"data.l: waits for service.status"}},
		{"inside an element", `{l: [{$from: "service.?none"}, {x: {$from: service.status.x}, y: z}]}`, `{l: [{y: z}]}`,
			[]string{"data.l[1].x: waits for service.status"}},
		{"element after a field", `{l: [{x: {$from: service.status.x}}, {$from: service.status.y}]}`, `{}`,
			[]string{"data.l: waits for service.status"}},
		{"all", `{$from: service.status.x}`, "", []string{"data: waits for service.status"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := resolver(t, config(test.data)).Preview(0, live(t, liveObjects))
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Object.Object["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.unknown, lines(got.Unknown)); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
		})
	}
}

func lines(unknown []Unknown) []string {
	var lines []string
	for _, u := range unknown {
		lines = append(lines, u.Path.String()+": "+u.Why)
	}
	return lines
}

func TestPreviewError(t *testing.T) {
	_, err := resolver(t, config(`{a: {$from: service.status.x}, b: {$from: service.spec.clusterIP + 1}}`)).Preview(0, live(t, liveObjects))
	var fails *EvalError
	if !errors.As(err, &fails) {
		t.Errorf("error %v, want an EvalError", err)
	}
}
