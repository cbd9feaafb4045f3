package messages_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/messages"
)

// apply sends a server-side apply of a ConfigMap or another object.
func apply(t *testing.T, c *harness.Cluster, apiVersion, kind, manager string, object map[string]any) error {
	t.Helper()
	u := &unstructured.Unstructured{Object: object}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	if u.GetNamespace() == "" {
		u.SetNamespace(c.Namespace)
	}
	client, err := c.Resource(apiVersion, kind, u.GetNamespace())
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: manager})
	return err
}

// TestFailures checks that the failures of requests to a real API server keep its words, and tell
// what to do.
func TestFailures(t *testing.T) {
	c := harness.Start(t)
	var found []string
	check := func(name string, err error, reason, said, next string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if err == nil {
				t.Fatal("no error")
			}
			f := cluster.Classify(err)
			if messages.Check(t, f, said, next); f.Reason != reason {
				t.Errorf("reason %s; want %s", f.Reason, reason)
			}
			found = append(found, f.Error())
		})
	}
	configMap := func(name string, more map[string]any) map[string]any {
		o := map[string]any{"metadata": map[string]any{"name": name}}
		for key, value := range more {
			o[key] = value
		}
		return o
	}
	data := func(value string) map[string]any { return map[string]any{"data": map[string]any{"a": value}} }
	const log = "see the log of the API server if it goes on"

	// Fields of the object.
	check("unknown field", apply(t, c, "v1", "ConfigMap", "a", configMap("x", map[string]any{"dat": "x"})), engine.ReasonInvalid,
		"dat: field not declared in schema", "correct the field in the graph")
	check("duplicate", apply(t, c, "v1", "Pod", "a", configMap("x", map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "c", "image": "i", "env": []any{map[string]any{"name": "A"}, map[string]any{"name": "A"}}}}}})), engine.ReasonInvalid,
		"duplicate entries for key", "correct the field in the graph")
	check("invalid", apply(t, c, "v1", "ConfigMap", "a", configMap("x", map[string]any{"data": map[string]any{"a/b": "x"}})), engine.ReasonInvalid,
		"a valid config key must consist of alphanumeric characters", "correct the object in the graph")
	if err := apply(t, c, "v1", "ConfigMap", "a", configMap("fixed", map[string]any{"immutable": true})); err != nil {
		t.Fatal(err)
	}
	check("immutable", apply(t, c, "v1", "ConfigMap", "a", configMap("fixed", map[string]any{"immutable": true, "data": map[string]any{"a": "x"}})), engine.ReasonImmutable,
		"field is immutable when `immutable` is set", "change it back, or set applyPolicy.recreate: OnImmutable on the node")
	if err := apply(t, c, "v1", "ConfigMap", "theirs", configMap("owned", data("1"))); err != nil {
		t.Fatal(err)
	}
	check("conflict", apply(t, c, "v1", "ConfigMap", "ours", configMap("owned", data("2"))), engine.ReasonConflict,
		"data.a is owned by theirs", "set applyPolicy.conflictPolicy: Force on the node, or apply with --force-conflicts")
	live := c.Get(t, "v1", "ConfigMap", "owned")
	live.SetResourceVersion("1")
	maps, err := c.Resource("v1", "ConfigMap", c.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	_, err = maps.Update(t.Context(), live, metav1.UpdateOptions{})
	check("concurrent update", err, engine.ReasonApplyFailed, "the object has been modified", log)

	// What is around it.
	c.Apply(t, `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {count/secrets: "0"}}}`)
	var exceeded error
	tries := 0 // each creates another object
	harness.Eventually(t, 30*time.Second, func(context.Context) error {
		tries++
		if exceeded = apply(t, c, "v1", "Secret", "a", configMap(fmt.Sprint("x", tries), nil)); exceeded == nil {
			return errors.New("the quota doesn't count yet")
		}
		return nil
	})
	check("quota", exceeded, engine.ReasonQuotaExceeded, "exceeded quota: q", "delete other objects, or raise the ResourceQuota")
	check("no namespace", apply(t, c, "v1", "ConfigMap", "a", map[string]any{"metadata": map[string]any{"name": "x", "namespace": "nowhere"}}), engine.ReasonInvalid,
		"namespace nowhere doesn't exist", "create it with 'kubectl create namespace nowhere'")
	going := c.Unique("going")
	c.Apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: `+going+`}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: holds, namespace: `+going+`, finalizers: [example.com/hold]}}`)
	t.Cleanup(func() {
		_, _ = c.Client.CoreV1().ConfigMaps(going).Patch(context.Background(), "holds", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	if err := c.Client.CoreV1().Namespaces().Delete(t.Context(), going, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("namespace ends", apply(t, c, "v1", "ConfigMap", "a", map[string]any{"metadata": map[string]any{"name": "x", "namespace": going}}), engine.ReasonNamespaceTerminating,
		"because it is being terminated", "wait until the namespace is gone, and create it again")
	group := c.Unique("g") + ".example.com"
	c.Apply(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.`+group+`}
spec:
  group: `+group+`
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: `+group+`/v1, kind: Thing, metadata: {name: holds, namespace: `+c.Namespace+`, finalizers: [example.com/hold]}}`)
	definitions, err := c.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	if err != nil {
		t.Fatal(err)
	}
	things, err := c.Resource(group+"/v1", "Thing", c.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if err := definitions.Delete(t.Context(), "things."+group, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = things.Patch(context.Background(), "holds", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	var ends error
	harness.Eventually(t, 30*time.Second, func(ctx context.Context) error {
		if _, ends = things.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Thing", "metadata": map[string]any{"generateName": "x"}}}, metav1.CreateOptions{}); ends == nil {
			return errors.New("the definition doesn't end yet")
		}
		return nil
	})
	check("definition ends", ends, engine.ReasonUnknownKind, "custom resource definition is terminating", "create the CustomResourceDefinition again when it is gone")
	client, err := cluster.New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Get(t.Context(), inventory.Key{Group: "no.example.com", Kind: "Nothing", Namespace: c.Namespace, Name: "x"}, "v1")
	check("kind", err, engine.ReasonUnknownKind, "the cluster knows no Nothing of no.example.com/v1", "check its apiVersion, or install its CustomResourceDefinition")
	down := c.Unique("down") + ".example.com"
	c.Apply(t, `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.`+down+`}
spec: {group: `+down+`, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, service: {name: none, namespace: default}, insecureSkipTLSVerify: true}`)
	services, err := c.Resource("apiregistration.k8s.io/v1", "APIService", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = services.Delete(context.Background(), "v1."+down, metav1.DeleteOptions{}) })
	var hidden error
	harness.Eventually(t, 30*time.Second, func(ctx context.Context) error {
		_, hidden = client.Get(ctx, inventory.Key{Group: down, Kind: "Thing", Namespace: c.Namespace, Name: "x"}, "v1")
		var unavailable *cluster.UnavailableKindError
		if !errors.As(hidden, &unavailable) {
			return fmt.Errorf("not unavailable yet: %w", hidden)
		}
		return nil
	})
	check("API service", hidden, engine.ReasonKindUnavailable, "the server is currently unable to handle the request", "check 'kubectl get apiservices' and the versions of its CustomResourceDefinition")

	// Those who refuse it.
	hook := c.Unique("hook")
	c.Apply(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: `+hook+`}
webhooks:
- name: down.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+c.Namespace+`}}
  sideEffects: None
  timeoutSeconds: 1
  admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: `+hook+`}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+c.Namespace+`}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [podtemplates]}]
  validations: [{expression: "false", message: "no templates on Fridays"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: `+hook+`}
spec: {policyName: `+hook+`, validationActions: [Deny]}`)
	t.Cleanup(func() {
		for _, kind := range []string{"ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
			if r, err := c.Resource("admissionregistration.k8s.io/v1", kind, ""); err == nil {
				_ = r.Delete(context.Background(), hook, metav1.DeleteOptions{})
			}
		}
	})
	refused := func(kind string, object map[string]any) (err error) {
		harness.Eventually(t, 30*time.Second, func(context.Context) error {
			tries++
			object["metadata"] = map[string]any{"name": fmt.Sprint("x", tries)}
			if err = apply(t, c, "v1", kind, "a", object); err == nil {
				return errors.New("not refused yet")
			}
			return nil
		})
		return err
	}
	check("webhook", refused("Service", map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(1)}}}}), engine.ReasonWebhookFailed,
		"connect: connection refused", "check that the webhook's Service has Pods that are ready")
	const policy = "change the object, or the policy or webhook that refuses it"
	pod := map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}
	check("policy", refused("PodTemplate", map[string]any{"template": map[string]any{"spec": pod}}), engine.ReasonDenied, "no templates on Fridays", policy)
	if _, err := c.Client.CoreV1().Namespaces().Patch(t.Context(), c.Namespace, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	check("Pod security", apply(t, c, "v1", "Pod", "a", configMap("x", map[string]any{"spec": pod})), engine.ReasonForbidden, `violates PodSecurity "restricted:latest"`, policy)

	// Who sends it.
	account := c.ServiceAccount(t, c.Namespace, "nobody")
	send := func(config *rest.Config) error {
		client, err := cluster.New(config)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = client.Get(ctx, inventory.Key{Kind: "ConfigMap", Namespace: c.Namespace, Name: "x"}, "v1")
		return err
	}
	check("right", send(account), engine.ReasonForbidden, `cannot get resource "configmaps"`, "grant the right with a role; 'pequod rbac generate' prints those of a graph")
	wrong := rest.CopyConfig(account)
	wrong.BearerToken, wrong.BearerTokenFile = "wrong", ""
	unauthorized := send(wrong)
	check("credentials", unauthorized, engine.ReasonKindUnavailable, "reading the kinds of v1: Unauthorized", "renew the credentials")

	// The way there.
	plain := func(err error, said, next string) {
		t.Helper()
		t.Run("command line, "+said, func(t *testing.T) {
			err = kube.Error(err)
			messages.Check(t, err, said, next)
			found = append(found, fmt.Sprint(err))
		})
	}
	const network, choose = "check its address, its certificate and the network", "check its address, or choose another cluster with --context"
	closed := httptest.NewServer(nil)
	closed.Close()
	gone := send(&rest.Config{Host: closed.URL})
	check("server", gone, engine.ReasonApplyFailed, "cluster "+closed.URL+" can't be reached: connection refused", network)
	plain(gone, "connection refused", choose)
	plain(send(&rest.Config{Host: "https://api.invalid"}), "api.invalid", choose)
	untrusted := send(&rest.Config{Host: c.Config.Host})
	check("authority", untrusted, engine.ReasonApplyFailed, "certificate signed by unknown authority", network)
	plain(untrusted, "certificate signed by unknown authority", "name its authority with --certificate-authority, or its name with --tls-server-name")
	plain(unauthorized, "Unauthorized", "renew them, or choose others with --context or --token")
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hang.Close()
	slow := send(&rest.Config{Host: hang.URL, Timeout: 50 * time.Millisecond, Dial: (&net.Dialer{}).DialContext})
	plain(slow, "it doesn't answer", choose)
	check("no answer", context.DeadlineExceeded, engine.ReasonApplyFailed, "the API server didn't answer in time", "check its load and its webhooks")

	// The kubeconfig.
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	connect := func(kubeconfig string, args ...string) error {
		t.Helper()
		t.Setenv("KUBECONFIG", kubeconfig)
		var f kube.ConnectionFlags
		cmd := &cobra.Command{}
		f.AddFlags(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		_, err := f.Connect(func(string) {})
		return err
	}
	file := func(text string) string {
		name := filepath.Join(dir, "config")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct {
		err        error
		said, next string
	}{
		{connect("/nope"), "/nope: no such file or directory", "$KUBECONFIG names it: mend the variable, or set --kubeconfig"},
		{connect(""), "no kubeconfig found", "set --kubeconfig or $KUBECONFIG"},
		{connect(file("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: http://127.0.0.1:1}}], contexts: [{name: here, context: {cluster: c}}]}"), "--context=prod"),
			`context "prod" does not exist in the kubeconfig`, "choose another with --context: here"},
		{connect(file("{apiVersion: v1, kind: Config, users: [{name: a}]}")), "no current context with a cluster", "set --context or --server"},
		{connect(file("- x")), "cannot unmarshal array", "correct it, or choose another file with --kubeconfig"},
		{connect("", "--kubeconfig="+dir+"/none"), "none: no such file or directory", "correct it, or choose another file with --kubeconfig"},
	} {
		t.Run(test.said, func(t *testing.T) {
			messages.Check(t, test.err, test.said, test.next)
			found = append(found, fmt.Sprint(test.err))
		})
	}
	messages.Covered(t, "../../applier/cluster/errors.go", []string{"Classify", "classifyStatus", "renewCredentials", "changeObject", "checkWebhook", "Error", "networkCause"}, found)
	messages.Covered(t, "../../applier/cluster/kinderrors.go", []string{"Error"}, found)
	messages.Covered(t, "../../cli/kube/errors.go", []string{"kubeconfigError", "noKubeconfig", "Error"}, found)
}
