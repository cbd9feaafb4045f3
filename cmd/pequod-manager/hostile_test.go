package main

import (
	"strings"
	"testing"

	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/operator/definitions/converting"
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
		if _, err := apply(t.Context(), old, in); err != nil {
			t.Fatal(err)
		}
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
