package clusterscripts_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

// webhooks sets data.level of the ConfigMaps with a label to info, and adds data.added. Others
// with data.level=forbidden it refuses.
func webhooks(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var config corev1.ConfigMap
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := json.Unmarshal(review.Request.Object.Raw, &config); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	switch {
	case r.URL.Path == "/mutate" && config.Labels["sets"] == "level":
		kind := admissionv1.PatchTypeJSONPatch
		review.Response.PatchType = &kind
		review.Response.Patch = []byte(`[{"op":"add","path":"/data/added","value":"x"},{"op":"add","path":"/data/level","value":"info"}]`)
	case r.URL.Path == "/validate" && config.Data["level"] == "forbidden":
		review.Response.Allowed = false
		review.Response.Result = &metav1.Status{Message: "the level is <forbidden>", Code: http.StatusForbidden}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// installWebhooks configures webhooks for the namespace of a test, and waits until the API
// server calls them.
func installWebhooks(t *testing.T, c *harness.Cluster) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(webhooks))
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for kind, path := range map[string]string{"Mutating": "/mutate", "Validating": "/validate"} {
		c.Apply(t, strings.NewReplacer("KIND", kind, "NAME", c.Unique("review"), "URL", server.URL+path, "BUNDLE", ca, "TEST-NS", c.Namespace).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: KINDWebhookConfiguration
metadata: {name: NAME}
webhooks:
- name: review.example.com
  clientConfig: {url: URL, caBundle: BUNDLE}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: TEST-NS}}
  sideEffects: None
  admissionReviewVersions: [v1]
`))
	}
	t.Cleanup(func() {
		registration := c.Client.AdmissionregistrationV1()
		_ = registration.MutatingWebhookConfigurations().Delete(context.Background(), c.Unique("review"), metav1.DeleteOptions{})
		_ = registration.ValidatingWebhookConfigurations().Delete(context.Background(), c.Unique("review"), metav1.DeleteOptions{})
	})
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"sets": "level"}}, Data: map[string]string{"a": "b"}}
	refused := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "refused"}, Data: map[string]string{"level": "forbidden"}}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		configs := c.Client.CoreV1().ConfigMaps(c.Namespace)
		got, err := configs.Create(t.Context(), probe, dry)
		if _, denied := configs.Create(t.Context(), refused, dry); err == nil && denied != nil && got.Data["level"] == "info" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the API server doesn't call the webhooks: %v", err)
		}
	}
}

// A review with --live has the answers of admission webhooks: what they refuse, and what they
// set to another value. A diff of the same files agrees.
func TestReviewAsksWebhooks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	c := harness.Start(t)
	installWebhooks(t, c)
	dir := t.TempDir()
	run := func(name string, args ...string) (string, int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PEQUOD_NAMESPACE="+c.Namespace, "HOME="+dir, "NO_COLOR=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState.ExitCode() < 0 {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	write := func(set, color, level string) {
		t.Helper()
		text := strings.NewReplacer("SET", set, "COLOR", color, "LEVEL", level).Replace(`apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  graph:
    nodes:
    - {id: back, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: back, labels: {sets: level}}, data: {level: SET}}}
    - {id: partly, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: partly, labels: {sets: level}}, data: {level: SET, color: COLOR}}}
    - {id: free, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: free}, data: {level: LEVEL}}}
`)
		if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("info", "red", "info")
	for _, args := range [][]string{
		{"git", "init", "-q", "-b", "main"}, {"git", "add", "web.yaml"}, {"git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base"},
		{"pequod", "apply", "-f", "web.yaml", "--timeout", "2m"},
	} {
		if out, code := run(args[0], args[1:]...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, out)
		}
	}
	contains := func(out string, all ...string) {
		t.Helper()
		for _, text := range all {
			if !strings.Contains(out, text) {
				t.Errorf("the output lacks %q:\n%s", text, out)
			}
		}
	}
	ns := c.Namespace

	// Without changes, the fields that the webhook added are no changes either.
	out, code := run("pequod", "review", "-f", "web.yaml", "--live")
	contains(out, "0 to add, 0 to change, 0 to remove\n")
	if diff, diffCode := run("pequod", "diff", "-f", "web.yaml"); code != 0 || diffCode != 0 {
		t.Errorf("exit codes %d and %d without a change:\n%s\n%s", code, diffCode, out, diff)
	}

	write("debug", "blue", "forbidden")
	out, code = run("pequod", "review", "-f", "web.yaml", "--live", "--fail-on", "breaking")
	contains(out, " · 1 refused\n",
		"! ConfigMap "+ns+"/free: ", "the level is <forbidden>",
		"! ConfigMap "+ns+"/back: data.level: gets the value info in a dry run: an admission webhook or the API server sets it\n",
		"! ConfigMap "+ns+"/partly: data.level: gets the value info in a dry run",
		"none in the cluster: the API server sets its fields back to those of the live object\n")
	if code != 1 || strings.Contains(out, "partly: data.color") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	diff, code := run("pequod", "diff", "-f", "web.yaml")
	contains(diff, " · 1 refused", "! ConfigMap "+ns+"/free: ", "the level is <forbidden>", "data.color: red → blue")
	if code != 1 || strings.Contains(diff, "/back") || strings.Contains(diff, "data.level: ") {
		t.Errorf("exit code %d: the diff has changes that the webhook prevents\n%s", code, diff)
	}

	// What the webhook refuses in general is known only to the cluster.
	out, code = run("pequod", "review", "-f", "web.yaml", "--fail-on", "breaking")
	if code != 0 || strings.Contains(out, "refused") {
		t.Errorf("without --live: exit code %d\n%s", code, out)
	}
}
