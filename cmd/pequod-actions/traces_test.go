package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// spans decodes what was accepted as a collector does, and returns the spans by their trace.
func (c *collector) spans(t *testing.T) map[string][]*tracepb.Span {
	t.Helper()
	traces := map[string][]*tracepb.Span{}
	for _, body := range c.got() {
		var request coltracepb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil || len(request.ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("%v: %q", err, body)
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					traces[hex.EncodeToString(s.TraceId)] = append(traces[hex.EncodeToString(s.TraceId)], s)
				}
			}
		}
	}
	return traces
}

// attribute returns an attribute of a span as text.
func attribute(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if text := a.Value.GetStringValue(); text != "" {
				return text
			}
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// revision waits until there is a trace of a revision of a graph with a result, and returns its first spans by
// node, the execution as "". A try again of the revision adds spans of its own, and none may be there twice.
func (c *collector) revision(t *testing.T, revision, result string) (spans map[string]*tracepb.Span) {
	t.Helper()
	harness.Eventually(t, patience, func(context.Context) error {
		var seen []string
		for _, trace := range c.spans(t) {
			root := trace[0]
			seen = append(seen, attribute(root, "pequod.revision")+" "+attribute(root, "pequod.result"))
			if attribute(root, "pequod.revision") != revision || attribute(root, "pequod.result") != result {
				continue
			}
			once(t, trace)
			spans = map[string]*tracepb.Span{}
			for _, s := range trace {
				if node := attribute(s, "pequod.node"); spans[node] == nil {
					spans[node] = s
				}
			}
			return nil
		}
		return fmt.Errorf("no trace of revision %s with the result %s: %q", revision, result, seen)
	})
	return spans
}

// once fails the test if a span of a trace was sent twice.
func once(t *testing.T, trace []*tracepb.Span) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range trace {
		if id := hex.EncodeToString(s.SpanId); seen[id] {
			t.Errorf("a span was sent twice: %v", s)
		} else {
			seen[id] = true
		}
	}
}

// traced is a cluster with an applier and pequod-actions, which sends traces.
func traced(t *testing.T, c *collector) (e *graphEnv, executor, actions *process.Process, again func() *process.Process) {
	t.Helper()
	env := notifying(t)
	env.Apply(t, string(applier.Manifests))
	e = &graphEnv{env.Cluster, nil, t.TempDir()}
	executor = applier.Start(t, e.Cluster, e.ServiceAccount(t, process.Namespace, applier.Account), withoutLease...)
	again = func() *process.Process {
		return applier.Start(t, e.Cluster, e.ServiceAccount(t, process.Namespace, applier.Account), withoutLease...)
	}
	actions = env.run(t, "--traces-addr="+c.URL+"/v1/traces")
	actions.Ready(t) // nothing that happened before is sent
	return e, executor, actions, again
}

const chain = `
    - id: first
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {a: "1"}}
    - id: gate
      dependencies: [first]
      readyWhen: [{type: Expression, expr: '"open" in object.data'}]
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}, data: {a: "1"}}
    - id: last
      dependencies: [gate]
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}, data: {a: "1"}}`

// TestTraces executes revisions of a graph with the applier, and collects their traces. The applier is killed
// in the middle of the first one, which becomes one trace nevertheless. The collector limits the rate. A
// restart of pequod-actions sends nothing again; its settings are in the environment then, and the certificate of the
// collector is that of a private authority.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := collect(t, 429, 503)
	e, executor, actions, again := traced(t, c)
	e.apply(t, "shop", chain)
	objects := e.Client.CoreV1().ConfigMaps(e.Namespace)
	graphs := e.Await(t, graphs, "ResourceGraph", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		rg, err := graphs.Get(ctx, "shop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if at, _, _ := unstructured.NestedString(rg.Object, "status", "nodeStates", "gate", "appliedAt"); at == "" {
			return fmt.Errorf("gate isn't applied: %v", rg.Object["status"])
		}
		return nil
	})
	killed := uint64(time.Now().UnixNano())
	_ = executor.Cmd.Process.Kill() // it runs
	<-executor.Done
	again()
	open := []byte(`{"data":{"open":"yes"}}`)
	if _, err := objects.Patch(t.Context(), "gate", types.MergePatchType, open, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	spans := c.revision(t, "1", "Completed")
	root, first, gate, last := spans[""], spans["first"], spans["gate"], spans["last"]
	if first == nil || gate == nil || last == nil {
		t.Fatalf("spans: %v", spans)
	}
	if root.StartTimeUnixNano != first.StartTimeUnixNano || first.EndTimeUnixNano > killed || root.EndTimeUnixNano < killed {
		t.Errorf("the trace begins after the applier was killed: %v, %v", root, first)
	}
	fraction := false
	for id, s := range spans {
		if s.StartTimeUnixNano < root.StartTimeUnixNano-2e6 || s.EndTimeUnixNano > root.EndTimeUnixNano+2e6 || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("the span of %q is not within its execution: %v", id, s)
		}
		fraction = fraction || s.EndTimeUnixNano%1e9 != 0
	}
	if last.StartTimeUnixNano < gate.EndTimeUnixNano || !fraction {
		t.Errorf("the times aren't those of the applier: %v, %v", gate, last)
	}
	for key, want := range map[string]string{
		"k8s.namespace.name": e.Namespace, "pequod.graph": "shop", "pequod.revision": "1", "pequod.node": "last", "pequod.kind": "v1/ConfigMap",
		"pequod.object": e.Namespace + "/last", "pequod.result": "Ready",
	} {
		if got := attribute(last, key); got != want {
			t.Errorf("%s is %q; want %q", key, got, want)
		}
	}

	// The account may not write the kind of the new node.
	patch := func(text string) {
		if _, err := graphs.Patch(t.Context(), "shop", types.JSONPatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch(`[{"op": "add", "path": "/spec/graph/nodes/-", "value": {"id": "forbidden", "resource": {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}}}}]`)
	spans = c.revision(t, "2", "Failed")
	for _, id := range []string{"", "forbidden"} {
		if s := spans[id]; s == nil || s.Status.Code != tracepb.Status_STATUS_CODE_ERROR || !strings.Contains(s.Status.Message, "forbidden") {
			t.Errorf("span of %q: %v", id, s)
		}
	}
	if spans["first"] != nil {
		t.Error("a node that wasn't touched has a span")
	}
	if code := actions.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	secure := httptest.NewUnstartedServer(c)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	actions = installed.Prepare(t, e.Cluster, e.ServiceAccount(t, process.Namespace, installed.Account), "--allow-egress=127.0.0.0/8")
	actions.Cmd.Env = append(actions.Cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+secure.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE="+authority,
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20of-the-environment", "OTEL_RESOURCE_ATTRIBUTES=k8s.cluster.name=east")
	actions.Run(t)
	patch(`[{"op": "remove", "path": "/spec/graph/nodes/3"}]`)
	c.revision(t, "3", "Completed")
	for _, trace := range c.spans(t) {
		once(t, trace)
	}
	c.search(t, e.Cluster)
	requests := c.requests()
	if h := requests[len(requests)-1]; h.Get("Authorization") != "Bearer of-the-environment" || strings.Contains(actions.Log.String(), "of-the-environment") {
		t.Errorf("headers %v, and the log: %s", h, actions.Log.String())
	}
	if bodies := c.got(); !bytes.Contains(bodies[len(bodies)-1], []byte("k8s.cluster.name")) {
		t.Error("the resource lacks the attribute of the environment")
	}
	for _, h := range requests {
		if h.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("headers: %v", h)
		}
	}
}
