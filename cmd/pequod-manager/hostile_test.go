package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/modules/archive"
	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/operator/definitions/converting"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hostile"
	"github.com/pequod-io/pequod/test/process"
)

// TestHostileConnections holds that what connects to the ports of the manager can't stop it: it
// then converts, checks and executes instances as before.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	h := installHooks(t)
	artifacts := process.FreeAddress(t)
	p := h.run(t, "--artifact-bind-address="+artifacts, "--artifact-url=http://"+artifacts)
	h.Apply(t, topicTransform)
	hasCondition(t, h.Cluster, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "topic", "Ready", "True", "")
	old := h.Await(t, "pequod.io/v1alpha1", "Topic", h.Namespace)
	topic := func(name string) {
		t.Helper()
		in := instanceOf(t, "Topic", name, "{reader: billing, keepDays: 30}")
		in.SetAPIVersion("pequod.io/v1alpha1")
		// The last evaluations of the senders may still be running, until the limit of their time.
		harness.Eventually(t, patience, func(ctx context.Context) error {
			_, err := apply(ctx, old, in)
			return err
		})
		hasCondition(t, h.Cluster, "pequod.io/v1", "Topic", h.Namespace, name, "Ready", "True", "")
	}
	topic("before")
	hostile.Connect(t, p.Cmd.Process.Pid,
		hostile.Port{Address: h.Address, TLS: true, Paths: []string{hooks.TransformsPath, hooks.InstancesPath, converting.Path}},
		hostile.Port{Address: artifacts, Paths: []string{"/artifacts/x"}},
		hostile.Port{Address: p.Metrics, TLS: true, Paths: []string{"/metrics"}},
		hostile.Port{Address: p.Probes, Paths: []string{"/readyz"}},
	)
	topic("after")
	if log := p.Log.String(); strings.Contains(log, "too large") {
		t.Errorf("the log is of the senders' choice:\n%s", log)
	}
}

// TestHostileContent holds that registries and repositories can't fill the memory of the manager with
// content that becomes much larger when it is decoded: it then renders as before.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	r := withRepositories(t)
	address := process.FreeAddress(t)
	p := start(t, r.Cluster, "--artifact-bind-address="+address, "--artifact-url=http://"+address)
	good := func(revision int) {
		t.Helper()
		r.push(t, "good", revision, 1, 0)
		r.render(t, r.Namespace, "good", "good")
		r.ready(t, r.Namespace, "good", revision)
	}
	good(1)
	check := hostile.Memory(t, p.Cmd.Process.Pid)

	manifests := [][2]string{{`{"layers":[`, `{},`}, {`{"layers":[`, `{"annotations":{"":""}},`}, {`{"manifests":[`, `{"platform":{}},`}, {`{"layers":[{"urls":[`, `"",`}}
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var repository, tag int
		if _, err := fmt.Sscanf(request.URL.Path, "/v2/a/%d/manifests/v%d", &repository, &tag); err == nil {
			around := manifests[repository]
			_, _ = io.WriteString(w, around[0]+strings.Repeat(around[1], 4_190_000/len(around[1]))+`{}]}`) // the manager ends connections
		}
	}))
	defer registry.Close()
	for i := range manifests {
		r.Apply(t, fmt.Sprintf("{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: hostile-%[1]d, namespace: %[3]s}, spec: {cueRef: {type: oci, ref: 'oci://%[2]s/a/%[1]d:v1'}, managedResources: []}}",
			i, strings.TrimPrefix(registry.URL, "http://"), process.Namespace))
	}
	for i := range manifests {
		hasCondition(t, r.Cluster, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, fmt.Sprint("hostile-", i), "CueFetched", "False", "TooLarge")
	}
	check("manifests")

	files := map[string]struct {
		text  string
		count int
	}{
		"values":     {"a: [" + strings.Repeat("1,", 520_000) + "]\n", 1},
		"mappings":   {"a: [" + strings.Repeat("a: ,", 260_000) + "]\n", 4},
		"keys":       {strings.Repeat("? \n", 345_000), 1},
		"json":       {`{"a":[` + strings.Repeat("1,", 520_000) + "1]}", 1},
		"lines":      {strings.Repeat("\n", 4_000_000), 4},
		"separators": {strings.Repeat("---\n", 1_000_000), 1},
		"tags":       {strings.Repeat("! ", 2_000_000), 1},
		"admitted":   {"apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web}\nspec: [" + strings.Repeat("a: ,", 90_000) + "]\n", 11},
	}
	for name, f := range files {
		var all []archive.File
		for i := range f.count {
			all = append(all, archive.File{Name: fmt.Sprintf("%02d.yaml", i), Data: []byte(f.text)})
		}
		r.publish(t, name, 1, all)
		r.render(t, r.Namespace, name, name)
	}
	for name := range files {
		r.refused(t, r.Namespace, name, "", "")
	}
	check("files")
	good(2)
}
