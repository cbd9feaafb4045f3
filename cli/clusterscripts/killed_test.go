package clusterscripts_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// revision is one of two revisions of the graph of TestKilled. Each has a
// Deployment and chains of ConfigMaps. Some ConfigMaps differ in the other
// revision or are missing there.
type revision struct {
	name        string
	first, last int
}

var revisions = []revision{{"A", 0, 12}, {"B", 6, 18}}

func (r revision) file() string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: web}
  platformRef: {module: webservice}
  renderHash: ""
  graph:
    nodes:
    - id: deployment
      resource:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          selector: {matchLabels: {app: web}}
          template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:%s"}]}}
`, r.name)
	for i := r.first; i < r.last; i++ {
		fmt.Fprintf(&b, "    - {id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%d}, data: {revision: %s}}", i, i, r.name)
		switch above := i - 4; {
		case i == r.last-1:
			fmt.Fprint(&b, ", dependencies: [deployment]")
		case above >= r.first:
			fmt.Fprintf(&b, ", dependencies: [n%d]", above)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// want returns the expected content of the ConfigMaps and of the Deployment.
func (r revision) want() map[string]string {
	want := map[string]string{"web": "web:" + r.name}
	for i := r.first; i < r.last; i++ {
		want[fmt.Sprint("n", i)] = r.name
	}
	return want
}

// killer runs pequod against a cluster that fails every tenth request, and kills it.
type killer struct {
	*harness.Cluster
	t          *testing.T
	proxy      *faults.Proxy
	kubeconfig string
	files      map[string]string
	random     *rand.Rand
	faults     int
}

// TestKilled upgrades a graph back and forth between two revisions, kills pequod
// apply with SIGKILL at random moments, and lets the API server fail. After each
// complete run, the cluster and the inventory must be exactly as in the graph.
// PEQUOD_SOAK sets the number of rounds.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("PEQUOD_SOAK")); err == nil {
		kills = n
	}
	c := harness.Start(t)
	seed := uint64(time.Now().UnixNano())
	k := &killer{
		Cluster: c, t: t, proxy: c.Proxy(t, seed), files: map[string]string{}, random: rand.New(rand.NewPCG(seed, 0)),
	}
	k.kubeconfig = c.WriteKubeconfig(t, k.proxy.Config(c.Config))
	for _, r := range revisions {
		k.files[r.name] = filepath.Join(t.TempDir(), r.name+".yaml")
		if err := os.WriteFile(k.files[r.name], []byte(r.file()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k.proxy.Inject(faults.Rule{Rate: 0.1, Faults: []faults.Fault{
		faults.Status{Code: http.StatusTooManyRequests}, faults.Status{Code: http.StatusInternalServerError},
		faults.Status{Code: http.StatusConflict}, faults.Timeout{}, faults.Cut{After: 20}, faults.Cut{}, faults.Drop{},
	}})
	k.complete(revisions[0])
	killed, ended := 0, 0
	for at := 1; killed < kills; at++ {
		r := revisions[at%2]
		if k.kill(r) {
			killed++
		} else {
			ended++
		}
		if k.random.IntN(3) == 0 {
			continue // with the other revision, from an unfinished state
		}
		k.complete(r)
		if t.Failed() {
			t.Fatalf("after kill %d of seed %d", killed, seed)
		}
	}
	k.complete(revisions[0])
	t.Logf("%d runs were killed, %d came to an end before, %d requests failed", killed, ended, k.faults)
}

// command returns a run of the program. The test binary acts as pequod when it is
// started under that name.
func (k *killer) command(r revision) (*exec.Cmd, *bytes.Buffer) {
	var said bytes.Buffer
	cmd := &exec.Cmd{
		Path: os.Args[0], Args: []string{"pequod", "apply", "-f", k.files[r.name], "--force-conflicts", "--timeout", "3m"},
		Env: append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "PEQUOD_NAMESPACE="+k.Namespace, "NO_COLOR=1"),
		Dir: k.t.TempDir(), Stdout: &said, Stderr: &said,
	}
	return cmd, &said
}

// kill starts a run and kills it after a random number of requests. It reports
// whether the run was killed before its end.
func (k *killer) kill(r revision) bool {
	k.t.Helper()
	cmd, _ := k.command(r)
	for _, n := range k.proxy.Faults() {
		k.faults += n
	}
	k.proxy.Reset()
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// An upgrade takes some sixty requests.
	for after := k.random.IntN(70); k.proxy.Count(func(faults.Request) bool { return true }) < after; {
		select {
		case <-ended:
			return false
		case <-time.After(time.Millisecond):
		}
	}
	_ = cmd.Process.Kill() // an error means that it has just ended
	var exit *exec.ExitError
	if !errors.As(<-ended, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// complete repeats runs until one finds everything ready. A run may fail, because it
// doesn't retry its first request forever.
func (k *killer) complete(r revision) {
	k.t.Helper()
	for range 20 {
		cmd, said := k.command(r)
		err := cmd.Run()
		if err == nil {
			k.exact(r)
			return
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			k.t.Fatalf("%s: %v\n%s", r.name, err, said)
		}
	}
	k.t.Fatalf("%s: no run got through", r.name)
}

// exact fails the test unless the cluster and the inventory match a revision.
func (k *killer) exact(r revision) {
	k.t.Helper()
	owner := inventory.Owner{Namespace: k.Namespace, Name: "web"}
	options := metav1.ListOptions{LabelSelector: owner.Selector()}
	maps, err := k.Client.CoreV1().ConfigMaps(k.Namespace).List(k.t.Context(), options)
	if err != nil {
		k.t.Fatal(err)
	}
	deployments, err := k.Client.AppsV1().Deployments(k.Namespace).List(k.t.Context(), options)
	if err != nil {
		k.t.Fatal(err)
	}
	got, live := map[string]string{}, map[string]string{}
	for _, m := range maps.Items {
		got[m.Name], live[m.Name] = m.Data["revision"], string(m.UID)
	}
	for _, d := range deployments.Items {
		got[d.Name], live[d.Name] = d.Spec.Template.Spec.Containers[0].Image, string(d.UID)
	}
	if diff := cmp.Diff(r.want(), got); diff != "" {
		k.t.Errorf("objects of revision %s (-want +got):\n%s", r.name, diff)
	}
	client, err := cluster.New(k.Config)
	if err != nil {
		k.t.Fatal(err)
	}
	stored, err := configmap.NewStore(client.REST()).Load(k.t.Context(), owner)
	if err != nil {
		k.t.Fatal(err)
	}
	entries := map[string]string{}
	for _, e := range stored.Entries {
		entries[e.Name] = string(e.UID)
	}
	if diff := cmp.Diff(live, entries); diff != "" || !stored.Complete {
		k.t.Errorf("inventory of revision %s, complete %t (-objects +entries):\n%s", r.name, stored.Complete, diff)
	}
}
