package applier_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// upgrade returns two revisions of a graph: the second adds, changes and removes nodes
// in several levels.
func (b *env) upgrade() (from, to *v1alpha1.ResourceGraph) {
	level := func(revision, first, last int) string {
		var nodes []string
		for i := first; i < last; i++ {
			dependency := ""
			if i >= 4 {
				dependency = fmt.Sprintf(", dependencies: [n%d]", max(first, i-4)-max(0, 4-(i-first)))
			}
			if i-4 < first {
				dependency = ""
			}
			nodes = append(nodes, fmt.Sprintf(
				`{id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%d}, data: {revision: "%d"}}%s}`,
				i, i, revision, dependency))
		}
		return "nodes: [" + strings.Join(nodes, ", ") + deploymentNode(revision) + "]"
	}
	return b.graph("g", level(1, 0, 16)), b.graph("g", level(2, 8, 24))
}

func deploymentNode(revision int) string {
	return fmt.Sprintf(`, {id: web, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, `+
		`selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "c:%d"}]}}}}, dependencies: [n8]}`, revision)
}

// wantUpgraded checks that the cluster and the inventory match the second revision
// exactly.
func (b *env) wantUpgraded() {
	b.t.Helper()
	list, err := b.Client.CoreV1().ConfigMaps(b.Namespace).List(b.t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelManaged})
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]string{}
	for _, cm := range list.Items {
		got[cm.Name] = cm.Data["revision"]
	}
	for i := range 24 {
		want, name := "2", fmt.Sprintf("n%d", i)
		if i < 8 {
			want = ""
		}
		if got[name] != want {
			b.t.Errorf("%s: revision %q; want %q", name, got[name], want)
		}
	}
	if len(got) != 16 {
		b.t.Errorf("%d ConfigMaps; want 16", len(got))
	}
	if n := strings.Count(b.owned("g"), "ConfigMap"); n != 16 {
		b.t.Errorf("%d ConfigMaps in the inventory; want 16", n)
	}
}

// TestKilled kills a run of an upgrade at random times, and the next run completes it.
// PEQUOD_SOAK is the number of repetitions.
func TestKilled(t *testing.T) {
	if kubeconfig := os.Getenv("PEQUOD_TEST_KILLED"); kubeconfig != "" {
		upgradeAndDie(t, kubeconfig)
		return
	}
	t.Parallel()
	b := newEnv(t)
	from, to := b.upgrade()
	times := 10
	if n, err := strconv.Atoi(os.Getenv("PEQUOD_SOAK")); err == nil {
		times = n
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	unfinished := 0
	for i := range times {
		b.complete(from)
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "PEQUOD_TEST_KILLED="+b.Kubeconfig, "PEQUOD_TEST_NAMESPACE="+b.Namespace)
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// An upgrade has some eighty events.
		said := bufio.NewScanner(pipe)
		for range random.IntN(85) {
			said.Scan()
		}
		_ = cmd.Process.Kill() // it may have ended by itself
		_, _ = io.Copy(io.Discard, pipe)
		if err := cmd.Wait(); err != nil {
			unfinished++
		}
		b.complete(to)
		if b.wantUpgraded(); t.Failed() {
			t.Fatalf("after kill %d of seed %d", i, seed)
		}
	}
	t.Logf("%d of %d runs were killed before they ended", unfinished, times)
}

func upgradeAndDie(t *testing.T, kubeconfig string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	b := envOn(t, &harness.Cluster{Config: config, Namespace: os.Getenv("PEQUOD_TEST_NAMESPACE")}, config)
	_, to := b.upgrade()
	b.options.Report = func(e applier.Event) { fmt.Println(e.ID, e.Phase) }
	b.complete(to)
}

// TestUnreliableServer lets a fifth of all requests fail.
func TestUnreliableServer(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 7)
	b := envOn(t, c, proxy.Config(c.Config))
	b.options.Timeout = 3 * time.Minute
	from, to := b.upgrade()
	b.complete(from)
	proxy.Inject(faults.Rule{Rate: 0.2, Faults: []faults.Fault{
		faults.Status{Code: http.StatusTooManyRequests}, faults.Status{Code: http.StatusInternalServerError},
		faults.Status{Code: http.StatusConflict}, faults.Timeout{}, faults.Cut{After: 20}, faults.Drop{},
	}})
	for {
		// The first request of a run isn't retried forever, so that the user sees its
		// failure.
		result, err := b.applier.Apply(t.Context(), to, b.options)
		if err == nil && result.Phase == engine.Completed {
			break
		}
		t.Logf("again: %v", err)
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	proxy.Inject()
	b.wantUpgraded()
	attempts := 0
	for _, e := range b.events {
		attempts = max(attempts, e.Attempts)
		if e.Attempts > 0 && e.Phase == v1alpha1.NodeFailed && e.NextAttempt.IsZero() {
			t.Errorf("%s failed for good: %s", e.ID, e.Message)
		}
	}
	if attempts == 0 {
		t.Error("no failed attempt was shown")
	}
	t.Logf("faults: %v", proxy.Faults())
}

// TestServerStops stops the API server in the middle of a run.
func TestServerStops(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	b := envOn(t, c, proxy.Config(c.Config))
	from, to := b.upgrade()
	b.complete(from)
	gone := false
	report := b.options.Report
	b.options.Report = func(e applier.Event) {
		report(e)
		if e.Phase == v1alpha1.NodeApplying && !gone {
			gone = true
			if err := proxy.Down(); err != nil {
				t.Error(err)
			}
			time.AfterFunc(2*time.Second, func() {
				if err := proxy.Up(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	b.complete(to)
	b.wantUpgraded()
	if !gone {
		t.Error("the server didn't go")
	}
}

// TestServerRestarts kills the control plane in the middle of a run and restarts it
// with its data.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	c := harness.StartOwn(t)
	b := envOn(t, c, c.Config)
	from, to := b.upgrade()
	b.options.Timeout = 0 // the restart may take long
	b.complete(from)
	again := make(chan struct{})
	report, killed := b.options.Report, false
	b.options.Report = func(e applier.Event) {
		report(e)
		if e.Phase == v1alpha1.NodeApplying && !killed {
			killed = true
			go func() {
				defer close(again)
				c.Kill(t)
				c.Restart(t)
			}()
		}
	}
	b.complete(to)
	<-again
	b.wantUpgraded()
}

// TestIndependentNodesContinue has one node with each kind of failure, and one
// without.
func TestIndependentNodesContinue(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.Cluster.Apply(t, `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {count/secrets: "0"}}}`)
	b.eventually("the quota counts", func(ctx context.Context) bool {
		q, err := b.Client.CoreV1().ResourceQuotas(b.Namespace).Get(ctx, "q", metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
	terminating := b.Unique("going")
	b.Cluster.Apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: `+terminating+`}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: holds, namespace: `+terminating+`, finalizers: [example.com/hold]}}`)
	t.Cleanup(func() {
		_, _ = b.Client.CoreV1().ConfigMaps(terminating).Patch(context.Background(), "holds", "application/merge-patch+json",
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	if err := b.Client.CoreV1().Namespaces().Delete(t.Context(), terminating, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	account := limited(b)
	webhook := b.Unique("hook")
	b.Cluster.Apply(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: `+webhook+`}
webhooks:
- name: down.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [serviceaccounts]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+b.Namespace+`}}
  sideEffects: None
  timeoutSeconds: 1
  admissionReviewVersions: [v1]
`)
	t.Cleanup(func() {
		_ = b.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.Background(), webhook, metav1.DeleteOptions{})
	})
	// Most failures are retried forever: it is enough to see each of them once.
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	ends := map[string]v1alpha1.NodePhase{
		"quota": v1alpha1.NodeFailed, "going": v1alpha1.NodeFailed, "webhook": v1alpha1.NodeFailed, "kind": v1alpha1.NodeFailed,
		"forbidden": v1alpha1.NodeFailed, "fine": v1alpha1.NodeReady, "behind": v1alpha1.NodeBlocked,
	}
	seen := map[string]engine.Status{}
	account.options.Report = func(e applier.Event) {
		if e.Phase == ends[e.ID] {
			seen[e.ID] = e.Status
		}
		if len(seen) == len(ends) {
			enough()
		}
	}
	_, err := account.applier.Apply(ctx, account.graph("g", `
nodes:
- {id: fine, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}}
- {id: quota, resource: {apiVersion: v1, kind: Secret, metadata: {name: s}}}
- {id: going, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: `+terminating+`}}}
- {id: webhook, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}}
- {id: kind, resource: {apiVersion: no.example.com/v1, kind: Nothing, metadata: {name: nothing}}}
- {id: forbidden, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}}
- {id: behind, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: behind}}, dependencies: [quota]}
`), account.options)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v; want that it was enough; seen: %v", err, seen)
	}
	for id, want := range map[string][2]string{
		"quota":     {engine.ReasonQuotaExceeded, "exceeded quota: q"},
		"going":     {engine.ReasonNamespaceTerminating, "being terminated"},
		"webhook":   {engine.ReasonWebhookFailed, "down.example.com"},
		"kind":      {engine.ReasonUnknownKind, "no Nothing of no.example.com/v1"},
		"forbidden": {engine.ReasonForbidden, "roles"},
	} {
		if s := seen[id]; s.Reason != want[0] || !strings.Contains(s.Message, want[1]) {
			t.Errorf("%s: %s %s %q; want Failed %s %q", id, s.Phase, s.Reason, s.Message, want[0], want[1])
		}
	}
	if s := seen["behind"]; s.BlockedBy != "quota" {
		t.Errorf("behind: blocked by %q", s.BlockedBy)
	}
}

// limited returns the env of an account that may do everything except reading and
// writing Roles.
func limited(b *env) *env {
	b.t.Helper()
	config := b.ServiceAccount(b.t, b.Namespace, "limited")
	role, binding := b.Unique("limited"), b.Unique("limited")
	b.Cluster.Apply(b.t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: `+role+`}
rules: [{apiGroups: ["", apps], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: `+binding+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: `+role+`}
subjects: [{kind: ServiceAccount, name: limited, namespace: `+b.Namespace+`}]
`)
	b.t.Cleanup(func() {
		_ = b.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding, metav1.DeleteOptions{})
		_ = b.Client.RbacV1().ClusterRoles().Delete(context.Background(), role, metav1.DeleteOptions{})
	})
	return envOn(b.t, b.Cluster, config)
}
