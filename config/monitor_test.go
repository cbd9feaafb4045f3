package config_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/pequod-io/pequod/config"
)

// TestPrometheus checks that the ServiceMonitors select the Services of the programs.
func TestPrometheus(t *testing.T) {
	t.Run("applier", func(t *testing.T) {
		checkMonitor(t, "prometheus", "pequod-applier", object(t, config.Applier, "Service", "pequod-applier-metrics"), "pequod-applier")
	})
	t.Run("manager", func(t *testing.T) {
		checkMonitor(t, monitoring[1], "pequod-controller-manager", object(t, config.Operator, "Service", "pequod-controller-manager"), "pequod-controller-manager")
	})
	t.Run("actions", func(t *testing.T) {
		checkMonitor(t, monitoring[2], "pequod-actions", object(t, config.Actions, "Service", "pequod-actions-metrics"), "pequod-actions")
	})
}

// checkMonitor checks that the ServiceMonitor of a kustomization selects a Service, and that
// Prometheus gives its series the job that expressions name.
func checkMonitor(t *testing.T, dir, name string, service *unstructured.Unstructured, wantJob string) {
	t.Helper()
	monitor := object(t, build(t, dir), "ServiceMonitor", name)
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
	job := service.GetName()
	if label, _, _ := unstructured.NestedString(monitor.Object, "spec", "jobLabel"); label != "" {
		job = service.GetLabels()[label]
	}
	if job != wantJob {
		t.Errorf("the job is %q; expressions say %s", job, wantJob)
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

// TestTokenOfPrometheus checks that Prometheus sends the programs the token of an account
// that may read the metrics and nothing else: the certificate isn't verified by default.
func TestTokenOfPrometheus(t *testing.T) {
	for i, dir := range monitoring {
		checkToken(t, build(t, dir), []string{"pequod-applier", "pequod-controller-manager", "pequod-actions"}[i])
	}
}

func checkToken(t *testing.T, text []byte, monitor string) {
	t.Helper()
	const name = "pequod-metrics-reader"
	endpoints, _, _ := unstructured.NestedSlice(object(t, text, "ServiceMonitor", monitor).Object, "spec", "endpoints")
	for _, e := range endpoints {
		endpoint := e.(map[string]any)
		want := map[string]any{"credentials": map[string]any{"name": name, "key": "token"}}
		if diff := cmp.Diff(want, endpoint["authorization"]); diff != "" || endpoint["bearerTokenFile"] != nil {
			t.Errorf("token from file %v; authorization (-want +got):\n%s", endpoint["bearerTokenFile"], diff)
		}
	}
	var secret corev1.Secret
	convert(t, object(t, text, "Secret", name), &secret)
	if secret.Type != corev1.SecretTypeServiceAccountToken || secret.Annotations[corev1.ServiceAccountNameKey] != name {
		t.Errorf("the Secret has type %s and annotations %v", secret.Type, secret.Annotations)
	}
	var binding rbacv1.ClusterRoleBinding
	convert(t, object(t, text, "ClusterRoleBinding", name), &binding)
	account := object(t, text, "ServiceAccount", name)
	wantSubjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: account.GetNamespace()}}
	if diff := cmp.Diff(wantSubjects, binding.Subjects); diff != "" || binding.RoleRef.Name != name || secret.Namespace != account.GetNamespace() {
		t.Errorf("role %s, Secret in namespace %s; subjects (-want +got):\n%s", binding.RoleRef.Name, secret.Namespace, diff)
	}
	var role rbacv1.ClusterRole
	convert(t, object(t, text, "ClusterRole", name), &role)
	if diff := cmp.Diff([]rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, role.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
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
