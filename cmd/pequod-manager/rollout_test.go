package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// withoutLease are arguments of a manager that doesn't wait until the lease of a killed one ends.
var withoutLease = []string{"--leader-elect=false", "--leader-election-namespace="}

// TestRollout kills the program, with its rights as installed and with a new disk each time, in
// the middle of a rollout. Each graph changes once, and the first batch is one instance. The
// abort restores the specs of the graphs. PEQUOD_SOAK is the number of kills.
func TestRollout(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	const instances = 8
	module := func(data string) string {
		return `package app
#Platform: {group: "pequod.io", kind: "App"}
#Input: {text: string}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: first: resource: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
		data: {text: input.spec.text` + data + `}
	}
}`
	}
	platform := func(data, more string) string {
		source, err := json.Marshal(module(data))
		if err != nil {
			t.Fatal(err)
		}
		return `{"apiVersion": "platform.pequod.io/v1alpha1", "kind": "Transform", "metadata": {"name": "app", "namespace": "` + process.Namespace + `"},
			"spec": {"cueRef": {"type": "inline", "ref": ` + string(source) + `}, "rollout": {"batches": [1, "50%"]` + more + `}}}`
	}
	p := start(t, c, withoutLease...)
	c.Apply(t, platform("", ""))
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "app", "Ready", "True", "")
	for i := range instances {
		c.Apply(t, fmt.Sprintf(`{"apiVersion": "pequod.io/v1alpha1", "kind": "App", "metadata": {"name": "web-%d"}, "spec": {"text": "one"}}`, i))
	}
	for i := range instances {
		hasCondition(t, c, "pequod.io/v1alpha1", "App", c.Namespace, fmt.Sprint("web-", i), "Ready", "True", "")
	}
	graphs := c.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", c.Namespace)
	before, err := graphs.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	phase := func(ctx context.Context) (phase, digest string) {
		obj, err := transforms.Get(ctx, "app", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		phase, _, _ = unstructured.NestedString(obj.Object, "status", "rollout", "phase")
		digest, _, _ = unstructured.NestedString(obj.Object, "status", "rollout", "toDigest")
		return phase, digest
	}
	_, old := phase(t.Context())

	ends := func(within time.Duration) bool {
		for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if got, digest := phase(t.Context()); got == "Completed" && digest != old {
				return true
			}
		}
		return false
	}
	// A rollout may end before the program is killed, so there are several.
	previous := before // the graphs of the version before
	most := 4
	if n, err := strconv.Atoi(os.Getenv("PEQUOD_SOAK")); err == nil {
		most = n
	}
	random, kills, version := rand.New(rand.NewPCG(1, 1)), 0, int64(0)
	for kills < most {
		version++
		c.Apply(t, platform(fmt.Sprintf(`, more: "%d"`, version), ""))
		for kills < most && !ends(time.Duration(100+random.IntN(500))*time.Millisecond) {
			if err := p.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.Done
			p = start(t, c, withoutLease...)
			kills++
		}
		if !ends(patience) {
			t.Fatal("the rollout does not end")
		}
		after, err := graphs.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range after.Items {
			if got, was := g.GetGeneration(), before.Items[i].GetGeneration(); got != was+version {
				t.Errorf("graph %s has generation %d after %d and %d versions", g.GetName(), got, was, version)
			}
		}
		if _, old = phase(t.Context()); kills < most {
			previous = after
		}
	}
	t.Logf("%d kills in %d rollouts", kills, version)

	if _, err := transforms.Patch(t.Context(), "app", types.MergePatchType, []byte(`{"spec":{"rollout":{"abortedDigest":"`+old+`"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		restored, err := graphs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.EqualFunc(restored.Items, previous.Items, func(a, b unstructured.Unstructured) bool {
			x, errX := json.Marshal(a.Object["spec"])
			y, errY := json.Marshal(b.Object["spec"])
			return errX == nil && errY == nil && string(x) == string(y)
		}) {
			return fmt.Errorf("the specs are not those from before")
		}
		return nil
	})
	if code := p.Stop(t); code != 0 {
		t.Errorf("asked to end, it ended with exit code %d", code)
	}
	for _, line := range p.Log.Lines() {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}
