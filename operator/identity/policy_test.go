package identity

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
)

// start returns a cluster with the CRD of graphs and the policy.
func start(t *testing.T) *harness.Cluster {
	t.Helper()
	c := harness.StartOwn(t)
	crd, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "platform.pequod.io_resourcegraphs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, string(crd))
	c.Apply(t, string(config.GraphPolicy))
	return c
}

// graphOf is a graph with metadata in addition to its name.
func graphOf(name, metadata string) string {
	return `{"apiVersion": "platform.pequod.io/v1alpha1", "kind": "ResourceGraph", "metadata": {"name": "` + name + `"` + metadata + `},
"spec": {"sourceRef": {"apiVersion": "pequod.io/v1alpha1", "kind": "WebService", "name": "x"}, "platformRef": {"module": "webservice"}, "renderHash": "",
"graph": {"nodes": [{"id": "config", "resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}}]}}}`
}

const operated = `, "labels": {"pequod.io/managed-by-operator": "true", "pequod.io/transform": "web"}, "annotations": {"pequod.io/account": "pequod-transform-web"}`

// TestPolicy checks which requests for graphs a user is refused who has all rights to
// ResourceGraphs in a namespace.
func TestPolicy(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: everything}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: everything}
subjects: [{kind: ServiceAccount, name: tenant, namespace: `+c.Namespace+`}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules: [{apiGroups: [platform.pequod.io], resources: [resourcegraphs, resourcegraphs/status], verbs: [get, create, patch, operate]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: manager, namespace: `+c.Namespace+`}]
`)
	graphs := func(account string) dynamic.ResourceInterface {
		client, err := dynamic.NewForConfig(c.ServiceAccount(t, c.Namespace, account))
		if err != nil {
			t.Fatal(err)
		}
		return client.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(c.Namespace)
	}
	tenant, manager := graphs("tenant"), graphs("manager")
	apply := func(as dynamic.ResourceInterface, name, text string) error {
		_, err := as.Patch(t.Context(), name, types.ApplyPatchType, []byte(text), metav1.PatchOptions{FieldManager: "test", Force: new(true)})
		return err
	}
	merge := func(name, patch string, subresource ...string) func() error {
		return func() error {
			_, err := tenant.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
			return err
		}
	}
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "pequod-manager makes the graphs with the label")
	}
	// The policy and the roles take effect some time after they are stored.
	harness.Eventually(t, time.Minute, func(context.Context) error { return apply(manager, "made", graphOf("made", operated)) })
	harness.Eventually(t, time.Minute, func(context.Context) error { return apply(tenant, "own", graphOf("own", "")) })
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, err := tenant.Patch(ctx, "early", types.ApplyPatchType, []byte(graphOf("early", operated)), metav1.PatchOptions{FieldManager: "test", DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("not refused yet")
		}
		if !refused(err) {
			return err
		}
		return nil
	})
	for name, request := range map[string]func() error{
		"create a graph with the label": func() error { return apply(tenant, "forged", graphOf("forged", operated)) },
		"create one with another value": func() error {
			return apply(tenant, "forged", graphOf("forged", strings.Replace(operated, `"true"`, `"yes"`, 1)))
		},
		"label an own graph":                   merge("own", `{"metadata": {"labels": {"pequod.io/managed-by-operator": "true"}}}`),
		"remove the label":                     merge("made", `{"metadata": {"labels": {"pequod.io/managed-by-operator": null}}}`),
		"change the label":                     merge("made", `{"metadata": {"labels": {"pequod.io/managed-by-operator": "no"}}}`),
		"change the Transform":                 merge("made", `{"metadata": {"labels": {"pequod.io/transform": "other"}}}`),
		"change the account":                   merge("made", `{"metadata": {"annotations": {"pequod.io/account": "pequod-transform-other"}}}`),
		"change the mark of what was rendered": merge("made", `{"metadata": {"annotations": {"pequod.io/rendered": "x"}}}`),
		"remove the account":                   merge("made", `{"metadata": {"annotations": {"pequod.io/account": null}}}`),
		"change the spec":                      merge("made", `{"spec": {"suspend": true}}`),
		"add nodes":                            merge("made", `{"spec": {"graph": {"nodes": [{"id": "x", "resource": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}}]}}}`),
		"write the status":                     merge("made", `{"status": {"phase": "Completed"}}`, "status"),
		"replace by apply": func() error {
			return apply(tenant, "made", strings.Replace(graphOf("made", operated), `"config"`, `"other"`, 1))
		},
		"change the spec with the label": func() error { return apply(tenant, "own", graphOf("own", operated)) },
	} {
		if err := request(); !refused(err) {
			t.Errorf("%s: %v; want a refusal by the policy", name, err)
		}
	}
	for name, request := range map[string]func() error{
		"pause":                merge("made", `{"metadata": {"labels": {"pequod.io/paused": "true"}}}`),
		"request a reconcile":  merge("made", `{"metadata": {"annotations": {"pequod.io/reconcile-requested-at": "now"}}}`),
		"change an own graph":  merge("own", `{"spec": {"suspend": true}}`),
		"write its own status": merge("own", `{"status": {"phase": "Completed"}}`, "status"),
		"change by the manager": func() error {
			return apply(manager, "made", strings.Replace(graphOf("made", operated), `"config"`, `"other"`, 1))
		},
	} {
		if err := request(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tenant.Delete(t.Context(), "made", metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// TestGuard checks that a guard refuses while the policy or its binding is missing or isn't
// the one that it knows.
func TestGuard(t *testing.T) {
	t.Parallel()
	c := start(t)
	scheme := runtime.NewScheme()
	if err := admissionv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	informers, err := cache.New(c.Config, cache.Options{Scheme: scheme, ByObject: ByObject()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGuard(t.Context(), informers)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(nil); err == nil {
		t.Error("it is ready before it has read the policy")
	}
	go func() { _ = informers.Start(t.Context()) }() // its end is the end of the test
	// until waits for a change after which the guard refuses for a reason, or doesn't if it
	// is empty.
	until := func(what, reason string) {
		t.Helper()
		timeout := time.After(time.Minute)
		for {
			if why := g.Refused(); why == "" && reason == "" || reason != "" && strings.Contains(why, reason) {
				return
			}
			select {
			case <-g.Changed():
			case <-timeout:
				t.Fatalf("%s: %q; want %q", what, g.Refused(), reason)
			}
		}
	}
	until("installed", "")
	admission := c.Client.AdmissionregistrationV1()
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change(admission.ValidatingAdmissionPolicies().Delete(t.Context(), policyName, metav1.DeleteOptions{}))
	until("without the policy", "the ValidatingAdmissionPolicy pequod-operator-graphs is missing")
	c.Apply(t, string(config.GraphPolicy))
	until("with the policy again", "")
	change(admission.ValidatingAdmissionPolicyBindings().Delete(t.Context(), policyName, metav1.DeleteOptions{}))
	until("without the binding", "Binding pequod-operator-graphs is missing")
	c.Apply(t, string(config.GraphPolicy))
	until("with the binding again", "")
	for name, patch := range map[string]string{
		"ignores failures":   `{"spec": {"failurePolicy": "Ignore"}}`,
		"spares a namespace": `{"spec": {"matchConstraints": {"namespaceSelector": {"matchLabels": {"a": "b"}}}}}`,
		"lets all pass":      `{"spec": {"validations": [{"expression": "true"}]}}`,
	} {
		_, err := admission.ValidatingAdmissionPolicies().Patch(t.Context(), policyName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		change(err)
		until(name, "isn't that of this version")
		change(admission.ValidatingAdmissionPolicies().Delete(t.Context(), policyName, metav1.DeleteOptions{}))
		c.Apply(t, string(config.GraphPolicy))
		until("repaired", "")
	}
	for name, patch := range map[string]string{
		"only warns":         `{"spec": {"validationActions": ["Warn"]}}`,
		"spares a namespace": `{"spec": {"matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}}}`,
	} {
		_, err := admission.ValidatingAdmissionPolicyBindings().Patch(t.Context(), policyName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		change(err)
		until(name, "isn't that of this version")
		change(admission.ValidatingAdmissionPolicyBindings().Delete(t.Context(), policyName, metav1.DeleteOptions{}))
		c.Apply(t, string(config.GraphPolicy))
		until("repaired", "")
	}
}

// TestAccount checks whose account a graph gets.
func TestAccount(t *testing.T) {
	rg := &v1alpha1.ResourceGraph{}
	for _, name := range []string{"", "default", "pequod-manager"} {
		rg.Annotations = map[string]string{v1alpha1.AnnotationAccount: name}
		if a, err := Account("pequod-system", rg); err == nil {
			t.Errorf("annotation %q: account %s", name, a)
		}
	}
	rg.Annotations[v1alpha1.AnnotationAccount] = "pequod-transform-web"
	if a, err := Account("pequod-system", rg); err != nil || a.String() != "pequod-system/pequod-transform-web" {
		t.Errorf("account %s, %v", a, err)
	}
}
