package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestInstalled runs the program as the account that config/applier installs, so
// that what it is allowed to do is what is tested.
func TestInstalled(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	p := installed.Start(t, c, account)
	p.Ready(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *harness.Cluster, *process.Process)
	}{
		{"samples", checkSamples},
		{"least privilege", checkPrivilege},
		{"metrics", checkMetrics},
		{"first consumer", checkFirstConsumer},
		{"degraded", checkDegraded},
		{"lease", checkLease}, // ends the program
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, c, p) }) {
			return
		}
	}
	for _, line := range p.Log.Lines() {
		var entry struct{ Level, Logger, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" || entry.Msg == "" {
			t.Errorf("not an entry of a structured log: %s", line)
		} else if entry.Level == "error" && !expected(line) {
			t.Errorf("an error in the log: %s", line)
		}
	}
	if !strings.Contains(p.Log.String(), `"msg":"starting","program":"pequod-applier","version":"v1.2.3-test"`) {
		t.Error("the version isn't in the log")
	}
}

// expected reports whether an error in the log may be logged by controller-runtime
// when it releases the lease.
func expected(line string) bool {
	return strings.Contains(line, `"msg":"error received after stop sequence was engaged","error":"leader election lost"`)
}

// checkSamples executes config/samples, and removes them again.
func checkSamples(t *testing.T, c *harness.Cluster, _ *process.Process) {
	for _, file := range []string{"account.yaml", "roles.yaml", "resourcegraph.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", file))
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, string(text))
	}
	graphs := c.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "default")
	var name string
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		list, err := graphs.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			return fmt.Errorf("%d graphs: %w", len(list.Items), err)
		}
		name = list.Items[0].GetName()
		return isReady(&list.Items[0])
	})
	if _, err := c.Client.AppsV1().Deployments("default").Get(t.Context(), "my-app", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if err := graphs.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		if _, err := graphs.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the graph isn't gone"), err)
		}
		_, err := c.Client.AppsV1().Deployments("default").Get(ctx, "my-app", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Deployment isn't gone"), err)
		}
		return nil
	})
}

// isReady judges a graph as kubectl wait --for=condition=Ready does.
func isReady(graph *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(graph.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("not ready: %v", graph.Object["status"])
}

// checkPrivilege holds that a graph gets no further than its account: the applier
// itself may not write what graphs hold.
func checkPrivilege(t *testing.T, c *harness.Cluster, _ *process.Process) {
	c.Apply(t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: pequod}
---
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: forbidden}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: forbidden}
  platformRef: {module: webservice}
  renderHash: ""
  graph:
    nodes:
    - id: config
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: forbidden}}
`)
	want := `"system:serviceaccount:` + c.Namespace + `:pequod" cannot `
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		graph := c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "forbidden")
		message, _, _ := unstructured.NestedString(graph.Object, "status", "nodeStates", "config", "message")
		if !strings.Contains(message, want) {
			return fmt.Errorf("%q isn't in %q", want, message)
		}
		return nil
	})
}

// checkMetrics holds who may read the metrics, and by which protocol.
func checkMetrics(t *testing.T, c *harness.Cluster, p *process.Process) {
	unknown := c.ServiceAccount(t, c.Namespace, "nobody").BearerToken
	scraper := c.ServiceAccount(t, c.Namespace, "scraper").BearerToken
	role := c.Unique("metrics-reader")
	c.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: scraper, namespace: %[2]s}]
`, role, c.Namespace))
	at := p.Metrics + "/metrics"
	for _, test := range []struct {
		name, url, token string
		want             int
	}{
		{"nobody", "https://" + at, "", http.StatusUnauthorized},
		{"a wrong token", "https://" + at, "wrong", http.StatusUnauthorized},
		{"an account without the role", "https://" + at, unknown, http.StatusForbidden},
	} {
		code, body, err := process.Get(t.Context(), test.url, test.token)
		if err != nil || code != test.want || strings.Contains(body, "# TYPE") {
			t.Errorf("%s: %d %v, want %d: %s", test.name, code, err, test.want, body)
		}
	}
	if code, _, err := process.Get(t.Context(), "http://"+at, scraper); err == nil && code != http.StatusBadRequest {
		t.Errorf("without TLS: %d", code)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error { // roles take their time
		code, body, err := process.Get(ctx, "https://"+at, scraper)
		for _, metric := range []string{"pequod_reconcile_total{", "pequod_apply_total{", "go_goroutines ", "rest_client_requests_total{"} {
			if err == nil && !strings.Contains(body, "\n"+metric) {
				err = fmt.Errorf("%d: no %s", code, metric)
			}
		}
		return err
	})
}

// checkLease holds that the lease is held while the program runs, and released
// when it is asked to end.
func checkLease(t *testing.T, c *harness.Cluster, p *process.Process) {
	holder := func() string {
		lease, err := c.Client.CoordinationV1().Leases(process.Namespace).Get(t.Context(), "pequod-applier", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	if holder() == "" {
		t.Error("nobody holds the lease")
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("asked to end, it ended with exit code %d", code)
	}
	if by := holder(); by != "" {
		t.Errorf("%s ended, and holds the lease", by)
	}
	if !strings.Contains(p.Log.String(), `"msg":"ended"}`) {
		t.Error("the log doesn't say that it ended")
	}
}

// TestProbes holds that a program which can't do its work isn't ready, though it
// is alive, and is ready again when it can; and that the metrics are served with
// the certificate that is given.
func TestProbes(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	proxy := c.Proxy(t, 1)
	dir, trusted := certificate(t)
	p := installed.Start(t, c, proxy.Config(account), "--metrics-cert-path="+dir)
	p.Ready(t)
	harness.Eventually(t, time.Minute, func(context.Context) error {
		connection, err := tls.Dial("tcp", p.Metrics, &tls.Config{RootCAs: trusted, ServerName: "metrics.example.com"})
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	probe := func(path string) (int, string) {
		t.Helper()
		code, body, err := process.Get(t.Context(), "http://"+p.Probes+path, "")
		if err != nil {
			t.Fatal(err)
		}
		return code, body
	}
	notReady := func(check string) {
		t.Helper()
		if code, body := probe("/readyz"); code != http.StatusInternalServerError || !strings.Contains(body, "[-]"+check+" failed") {
			t.Errorf("/readyz: %d, without a failure of %s: %s", code, check, body)
		}
		if code, body := probe("/healthz"); code != http.StatusOK {
			t.Errorf("/healthz: %d: %s", code, body)
		}
	}
	proxy.Inject(faults.Rule{Resources: []string{"resourcegraphs.platform.pequod.io"}, Faults: []faults.Fault{faults.Status{Code: 404}}})
	notReady("resourcegraphs")
	proxy.Inject()
	p.Ready(t)
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	notReady("api-server")
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	p.Ready(t)
}

// certificate writes the files of one for metrics.example.com, and says whom to
// trust for it.
func certificate(t *testing.T) (dir string, trusted *x509.CertPool) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("metrics.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir, trusted = t.TempDir(), x509.NewCertPool()
	for file, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !trusted.AppendCertsFromPEM(certificate) {
		t.Fatal("not a certificate")
	}
	return dir, trusted
}

// TestTakeover holds that a second replica is ready while the first one works,
// and works when that has ended.
func TestTakeover(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	first := installed.Start(t, c, account)
	first.Ready(t)
	second := installed.Start(t, c, account)
	second.Ready(t)
	c.Apply(t, graphOf("before"))
	awaitReady(t, c, "before")
	if code := first.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c.Apply(t, graphOf("after"))
	awaitReady(t, c, "after")
	if code := second.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestUninstall holds that what was executed in the cluster outlives the applier,
// that another one takes it up again, and that it can be given up.
func TestUninstall(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	p := installed.Start(t, c, account)
	c.Apply(t, graphOf("kept"))
	awaitReady(t, c, "kept")
	p.Stop(t)
	process.Pequod(t, c, 0, "uninstall", "--yes")
	if by := managedBy(t, c, "kept"); by != "kept" {
		t.Errorf("without an applier the ConfigMap is that of graph %q", by)
	}

	c.Apply(t, string(config.Applier))
	// Another applier than the installed one, with its own lease in another namespace.
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leases, namespace: `+c.Namespace+`}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, get, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leases, namespace: `+c.Namespace+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leases}
subjects: [{kind: ServiceAccount, name: pequod-applier, namespace: `+process.Namespace+`}]
`)
	// ConfigMaps may not be watched here: they are polled.
	p = installed.Start(t, c, c.ServiceAccount(t, process.Namespace, "pequod-applier"), "--resync=2s",
		"--leader-election-namespace="+c.Namespace, "--watch-label-selector=!example.com/shard")
	c.Apply(t, graphOf("new"))
	awaitReady(t, c, "new")
	// The one that was there before is looked after again.
	if err := c.Client.CoreV1().ConfigMaps(c.Namespace).Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, "kept", metav1.GetOptions{})
		return err
	})
	awaitReady(t, c, "kept")
	// While an applier runs somewhere, nothing is given up.
	out := process.Pequod(t, c, 1, "uninstall", "--orphan-graphs", "--yes")
	if !strings.Contains(out, "an applier is still running: ") || !strings.Contains(out, " renews the lease "+c.Namespace+"/pequod-applier-") {
		t.Errorf("beside a running applier: %s", out)
	}
	if by := managedBy(t, c, "kept"); by != "kept" {
		t.Errorf("beside a running applier the ConfigMap was given up, to %q", by)
	}
	p.Stop(t)
	process.Pequod(t, c, 0, "uninstall", "--orphan-graphs", "--yes")
	for _, name := range []string{"kept", "new"} {
		if by := managedBy(t, c, name); by != "" {
			t.Errorf("ConfigMap %s, which was given up, is that of graph %q", name, by)
		}
	}
	for _, kind := range []string{"resourcegraphs", "transforms"} {
		definitions, err := c.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := definitions.Get(t.Context(), kind+".platform.pequod.io", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the definition of %s: %v", kind, err)
		}
	}
}

// managedBy is the graph that a ConfigMap belongs to.
func managedBy(t *testing.T, c *harness.Cluster, name string) string {
	t.Helper()
	return c.Get(t, "v1", "ConfigMap", name).GetLabels()[v1alpha1.LabelGraph]
}

func awaitReady(t *testing.T, c *harness.Cluster, graph string) {
	t.Helper()
	harness.Eventually(t, time.Minute, func(context.Context) error {
		return isReady(c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", graph))
	})
}

// graphOf is a graph of one ConfigMap, with the account that may make it.
func graphOf(name string) string {
	return strings.ReplaceAll(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: pequod}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: pequod}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pequod}
subjects: [{kind: ServiceAccount, name: pequod}]
---
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: NAME}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: NAME}
  platformRef: {module: webservice}
  renderHash: ""
  graph:
    nodes:
    - id: config
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}}
`, "NAME", name)
}
