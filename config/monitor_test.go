package config_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestPrometheus holds that what config/prometheus looks at is what config/applier
// makes.
func TestPrometheus(t *testing.T) {
	monitor := object(t, build(t, "prometheus"), "ServiceMonitor", "pequod-applier")
	service := object(t, build(t, "applier"), "Service", "pequod-applier-metrics")
	if monitor.GetNamespace() != service.GetNamespace() {
		t.Errorf("the ServiceMonitor looks into namespace %s, the Service is in %s", monitor.GetNamespace(), service.GetNamespace())
	}
	wanted, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	if err != nil || len(wanted) == 0 {
		t.Fatalf("the ServiceMonitor selects nothing: %v", err)
	}
	for name, value := range wanted {
		if got := service.GetLabels()[name]; got != value {
			t.Errorf("the Service's label %s is %q; the ServiceMonitor wants %q", name, got, value)
		}
	}
	label, _, _ := unstructured.NestedString(monitor.Object, "spec", "jobLabel")
	if job := service.GetLabels()[label]; job != "pequod-applier" {
		t.Errorf("the job is %q; expressions say pequod-applier", job)
	}
	ports := map[any]bool{}
	listed, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, p := range listed {
		ports[p.(map[string]any)["name"]] = true
	}
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	for _, e := range endpoints {
		if port := e.(map[string]any)["port"]; !ports[port] {
			t.Errorf("the Service has no port %v", port)
		}
	}
	if len(endpoints) != 1 {
		t.Errorf("%d endpoints; want 1", len(endpoints))
	}
}

// object finds one object among documents.
func object(t *testing.T, text []byte, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			t.Fatalf("no %s %s", kind, name)
		case err != nil:
			t.Fatal(err)
		}
		if u.GetKind() == kind && u.GetName() == name {
			return u
		}
	}
}
