package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/config"
	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hostile"
	"github.com/pequod-io/pequod/test/process"
)

// hook is a cluster in which the applier is installed with its webhook, and with authors.
type hook struct{ *process.Hooked }

func installHook(t *testing.T) hook {
	t.Helper()
	h := hook{installed.InstallHooked(t, process.Webhooks{Manifests: config.Webhook(), Configuration: hooks.Applier, Path: hooks.GraphsPath})}
	h.Apply(t, authors(h.Namespace))
	return h
}

// authors are users who may write graphs and ConfigMaps: "configmaps" has no further right,
// "edit" the role of Kubernetes, "root" all.
func authors(namespace string) string {
	return strings.ReplaceAll(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: writes}, rules: [
  {apiGroups: [platform.pequod.io], resources: [resourcegraphs], verbs: ["*"]},
  {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: writes}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: writes},
  subjects: [{kind: ServiceAccount, name: configmaps, namespace: NS}, {kind: ServiceAccount, name: impersonator, namespace: NS}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: edits}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit},
  subjects: [{kind: ServiceAccount, name: edit, namespace: NS}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: root}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
  subjects: [{kind: ServiceAccount, name: root, namespace: NS}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: impersonates}, rules: [
  {apiGroups: [""], resources: [serviceaccounts], resourceNames: [pequod], verbs: [impersonate]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: impersonates}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: impersonates},
  subjects: [{kind: ServiceAccount, name: impersonator, namespace: NS}]}
`, "NS", namespace)
}

// as returns the graphs of the test's namespace for a user with a token.
func (h hook) as(t *testing.T, user string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(h.ServiceAccount(t, h.Namespace, user))
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(h.Namespace)
}

// authored returns a graph with nodes and other fields of the spec.
func authored(t *testing.T, name, spec string, nodes ...string) *unstructured.Unstructured {
	t.Helper()
	if spec == "" {
		spec = "{}"
	}
	object := map[string]any{}
	text := fmt.Sprintf("apiVersion: %s\nkind: ResourceGraph\nmetadata: {name: %q}\nspec: %s\n", v1alpha1.GroupVersion, name, spec)
	var list []any
	if err := errors.Join(yaml.Unmarshal([]byte(text), &object), yaml.Unmarshal([]byte("["+strings.Join(nodes, ", ")+"]"), &list)); err != nil {
		t.Fatal(err)
	}
	object["spec"].(map[string]any)["graph"] = map[string]any{"nodes": list}
	return &unstructured.Unstructured{Object: object}
}

const (
	aConfigMap = `{id: settings, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}}`
	aSecret    = `{id: secret, externalRef: {apiVersion: v1, kind: Secret, name: admin}}`
	leaks      = `{id: leak, resource: {apiVersion: v1, kind: Secret, metadata: {name: leak}, data: {token: {$from: "secret.data.token"}}}}`
	isElse     = `{id: there, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: kube-system}}}`
	aCRD       = `{id: crd, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: configmaps.hook.example.com}, spec: {group: hook.example.com, scope: Namespaced, names: {kind: Thing, plural: configmaps}, versions: []}}}`
	aThing     = `{id: thing, resource: {apiVersion: hook.example.com/v1, kind: Thing, metadata: {name: web}}}`
)

// refused checks that a write was refused by the webhook, with a part of its message.
func refused(t *testing.T, what string, err error, message string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), `admission webhook "resourcegraphs.pequod.io" denied the request: `) || !strings.Contains(err.Error(), message) {
		t.Errorf("%s: %v\nwant %s", what, err, message)
	}
}

// TestAuthorsAreChecked writes graphs with the tokens of users, through the API server and
// a webhook with the installed rights.
func TestAuthorsAreChecked(t *testing.T) {
	t.Parallel()
	h := installHook(t)
	h.Run(t).Ready(t)
	ctx := t.Context()
	poor, edit, root, other := h.as(t, "configmaps"), h.as(t, "edit"), h.as(t, "root"), h.as(t, "impersonator")
	create := metav1.CreateOptions{FieldManager: "test"}

	if _, err := poor.Create(ctx, authored(t, "web", "", aConfigMap), create); err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*unstructured.Unstructured{
		"a Secret that an expression reads": authored(t, "no", "", aSecret, leaks),
		"another namespace":                 authored(t, "no", "", isElse),
		"a kind that the graph defines":     authored(t, "no", "", aCRD, aThing),
		"another account":                   authored(t, "no", "{serviceAccountName: root}", isElse),
	} {
		_, err := poor.Create(ctx, g, create)
		refused(t, name, err, fmt.Sprintf(`the rights of user "system:serviceaccount:%s:configmaps" do not include what the nodes of the graph do: node `, h.Namespace))
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dry := create
	dry.DryRun = []string{metav1.DryRunAll}
	_, err := poor.Create(ctx, authored(t, "no", "", aSecret), dry)
	refused(t, "a dry run", err, "node secret: get secrets/admin -n "+h.Namespace)
	if _, err := poor.Create(ctx, authored(t, "dry", "", aConfigMap), dry); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	generated := authored(t, "x", "", aSecret)
	generated.SetName("")
	generated.SetGenerateName("web-")
	_, err = poor.Create(ctx, generated, create)
	refused(t, "a generated name", err, "node secret: get secrets/admin")
	generated = authored(t, "x", "", strings.ReplaceAll(aConfigMap, "web", "generated"))
	generated.SetName("")
	generated.SetGenerateName("web-")
	if _, err := poor.Create(ctx, generated, create); err != nil {
		t.Errorf("a generated name: %v", err)
	}

	// What can't be created can't be added later, by any of the ways to write.
	apply := metav1.ApplyOptions{FieldManager: "test", Force: true}
	_, err = poor.Apply(ctx, "web", authored(t, "web", "", aConfigMap, aSecret), apply)
	refused(t, "an apply", err, "node secret: get secrets/admin")
	_, err = poor.Patch(ctx, "web", types.JSONPatchType, []byte(`[{"op": "add", "path": "/spec/serviceAccountName", "value": "root"}]`), metav1.PatchOptions{})
	if err != nil {
		t.Errorf("an account without more nodes than its author may write: %v", err)
	}
	for { // the applier writes the status meanwhile
		live, err := poor.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		live.Object["spec"] = authored(t, "web", "{adopt: {mode: LabelSelector, labelSelector: {matchLabels: {a: b}}}}", isElse).Object["spec"]
		if _, err = poor.Update(ctx, live, metav1.UpdateOptions{}); apierrors.IsConflict(err) {
			continue
		}
		refused(t, "an update", err, "configmaps/web -n kube-system")
		break
	}

	// Whoever may not write the nodes may write metadata, and nothing else.
	if _, err := root.Create(ctx, authored(t, "theirs", "{suspend: true}", isElse), create); err != nil {
		t.Fatal(err)
	}
	label := []byte(`{"metadata": {"labels": {"a": "b"}}}`)
	if _, err := poor.Patch(ctx, "theirs", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Errorf("a label: %v", err)
	}
	_, err = poor.Patch(ctx, "theirs", types.MergePatchType, []byte(`{"spec": {"suspend": false}}`), metav1.PatchOptions{})
	refused(t, "an end of a suspension", err, "configmaps/web -n kube-system")
	_, err = poor.Patch(ctx, "theirs", types.MergePatchType, []byte(`{"spec": {"deletionPolicy": "Orphan"}}`), metav1.PatchOptions{})
	refused(t, "a deletion policy", err, "configmaps/web -n kube-system")
	_, err = poor.Patch(ctx, "theirs", types.MergePatchType, []byte(`{"spec": {"graph": {"nodes": []}}}`), metav1.PatchOptions{})
	refused(t, "no nodes any more", err, "node there: delete configmaps/web -n kube-system")
	if err := poor.Delete(ctx, "theirs", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}

	for name, client := range map[string]dynamic.ResourceInterface{"edit": edit, "impersonator": other, "root": root} {
		if _, err := client.Create(ctx, authored(t, name, "{suspend: true}", aSecret, leaks, isElse), create); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = other.Create(ctx, authored(t, "no", "{serviceAccountName: root}", isElse), create)
	refused(t, "another account than the one to impersonate", err, "(the right to impersonate serviceaccounts/root -n "+h.Namespace+" would suffice)")
	_, err = root.Create(ctx, authored(t, "no", "", strings.Replace(aConfigMap, "id: settings", "id: settings, dependencies: [x]", 1)), create)
	refused(t, "an invalid graph", err, `the graph is invalid: node settings: dependencies[0]: no node "x"`)

	// A graph that is nearly as large as the API server accepts.
	var nodes []string
	for i := range 2500 {
		nodes = append(nodes, fmt.Sprintf(`{id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%[1]d}, data: {a: %s}}}`, i, strings.Repeat("x", 300)))
	}
	if _, err := poor.Create(ctx, authored(t, "huge", "{suspend: true}", nodes...), create); err != nil {
		t.Errorf("a huge graph: %v", err)
	}
	if _, err := poor.Patch(ctx, "huge", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Errorf("a label of a huge graph: %v", err)
	}
}

// TestWebhookInAnyOrder holds that nothing but the creation of graphs, and changes of their
// specs, waits for the webhook, in whatever order its parts come and are removed.
func TestWebhookInAnyOrder(t *testing.T) {
	t.Parallel()
	h := installHook(t) // the configuration is there, and no applier has run
	ctx := t.Context()
	root := h.as(t, "root")
	configurations := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	locked := func(name string) {
		t.Helper()
		_, err := root.Create(ctx, authored(t, name, "", aConfigMap), metav1.CreateOptions{})
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "resourcegraphs.pequod.io"`) {
			t.Errorf("%s: created without a check: %v", name, err)
		}
		h.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}", name))
	}
	works := func(name string) {
		t.Helper()
		harness.Eventually(t, time.Minute, func(ctx context.Context) error {
			_, err := root.Create(ctx, authored(t, name, "", strings.ReplaceAll(aConfigMap, "web", name)), metav1.CreateOptions{})
			return err
		})
		_, err := h.as(t, "configmaps").Create(ctx, authored(t, "no", "", aSecret), metav1.CreateOptions{})
		refused(t, name, err, "get secrets/admin")
	}
	locked("before")
	p := h.Run(t)
	p.Ready(t)
	works("first")

	p.Stop(t)
	locked("stopped")
	if _, err := root.Patch(ctx, "first", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/a"]}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("metadata while it doesn't run: %v", err)
	}
	if err := root.Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion while it doesn't run: %v", err)
	}
	if _, err := root.Patch(ctx, "first", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("the end of a deletion while it doesn't run: %v", err)
	}
	graphs := v1alpha1.GroupVersion.WithResource("resourcegraphs")
	if _, err := h.Dynamic.Resource(graphs).Namespace(process.Namespace).Create(ctx, authored(t, "own", "", aConfigMap), metav1.CreateOptions{}); err != nil {
		t.Errorf("the applier's namespace while it doesn't run: %v", err)
	}

	p = h.Run(t)
	p.Ready(t)
	works("restarted")
	// The applier's rights to serve are taken away and come back, as by a roll-back.
	if err := configurations.Delete(ctx, hooks.Applier, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error { // API servers forget it later
		_, err := h.as(t, "configmaps").Create(ctx, authored(t, "unchecked", "{suspend: true}", aSecret), metav1.CreateOptions{})
		return err
	})
	h.Configure(t)
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, err := h.as(t, "configmaps").Create(ctx, authored(t, "checked", "{suspend: true}", aSecret), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "denied the request") {
			return fmt.Errorf("not checked: %w", err)
		}
		return nil
	})
	works("reinstalled")
	if code := p.Stop(t); code != incluster.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

// TestHostileConnections holds that what connects to the webhook's port can't stop it.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	h := installHook(t)
	p := h.Run(t)
	p.Ready(t)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	post := func(path, kind string, body io.Reader) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+h.Address+path, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", kind)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	const json = "application/json"
	for name, test := range map[string]struct {
		path, kind, body string
		code             int
		text             string
	}{
		"garbage":       {hooks.GraphsPath, json, "\x00\xff{{{", http.StatusBadRequest, "no JSON object"},
		"YAML":          {hooks.GraphsPath, json, "request: {}", http.StatusBadRequest, "no JSON object"},
		"nothing":       {hooks.GraphsPath, json, "", http.StatusBadRequest, "no JSON object"},
		"no end":        {hooks.GraphsPath, json, "{", http.StatusOK, `"allowed":false`},
		"no request":    {hooks.GraphsPath, json, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`, http.StatusOK, `"allowed":`},
		"deep":          {hooks.GraphsPath, json, strings.Repeat("[", 1<<20), http.StatusRequestEntityTooLarge, "more than 200 levels"},
		"many values":   {hooks.GraphsPath, json, "[" + strings.Repeat("{},", 1<<20), http.StatusRequestEntityTooLarge, "more than 200000 values"},
		"another type":  {hooks.GraphsPath, "text/plain", "{}", http.StatusOK, `"allowed":false`},
		"10 MB":         {hooks.GraphsPath, json, strings.Repeat("x", 10<<20), http.StatusRequestEntityTooLarge, "more than 7 MiB"},
		"another path":  {"/", json, "{}", http.StatusNotFound, ""},
		"a longer path": {hooks.GraphsPath + "/../../etc/passwd", json, "{}", http.StatusNotFound, ""},
	} {
		if code, text := post(test.path, test.kind, strings.NewReader(test.body)); code != test.code || !strings.Contains(text, test.text) {
			t.Errorf("%s: %d %.200s", name, code, text)
		}
	}
	// No TLS.
	plain, err := http.Get("http://" + h.Address + hooks.GraphsPath)
	if err == nil {
		plain.Body.Close()
	}
	if err == nil && plain.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", plain.Status)
	}
	hostile.Connect(t, p.Cmd.Process.Pid, hostile.Port{Address: h.Address, TLS: true, Paths: []string{hooks.GraphsPath}},
		hostile.Port{Address: p.Metrics, TLS: true, Paths: []string{"/metrics"}}, hostile.Port{Address: p.Probes, Paths: []string{"/readyz"}})
	if _, err := h.as(t, "root").Create(t.Context(), authored(t, "web", "", aConfigMap), metav1.CreateOptions{}); err != nil {
		t.Errorf("after all that: %v", err)
	}
	if log := p.Log.String(); strings.Count(log, "bad request") > 0 || strings.Contains(log, "unable to") {
		t.Errorf("the log is of the senders' choice:\n%s", log)
	}
}

// TestHandshakes lets clients fail to begin TLS, which doesn't fill the log.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	c, account := installed.Borrow(t)
	p := installed.Start(t, c, account)
	for range 300 {
		var conn net.Conn
		harness.Eventually(t, time.Minute, func(context.Context) (err error) {
			conn, err = net.Dial("tcp", p.Metrics)
			return err
		})
		_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n") // the program ends the connection
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	if n := strings.Count(p.Log.String(), "TLS handshake error"); n != 10 {
		t.Errorf("%d lines about failed handshakes", n)
	}
}
