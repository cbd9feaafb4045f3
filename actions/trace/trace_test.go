package trace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/outbox"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns a time after zero.
func at(milliseconds int) time.Time { return zero.Add(time.Duration(milliseconds) * time.Millisecond) }

// graph returns a graph with nodes that have states, and executions, newest first.
func graph(states map[string]v1alpha1.NodeState, history ...v1alpha1.Revision) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{UID: "u", Namespace: "shop", Name: "web"}}
	for _, id := range []string{"a", "b", "c", "d"} {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, id)
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{ID: id, Resource: &runtime.RawExtension{Raw: []byte(raw)}})
	}
	rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{ID: "read", ExternalRef: &v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "db", Name: "pg"}})
	rg.Status.NodeStates, rg.Status.History = states, history
	return rg
}

// ran returns an execution.
func ran(generation, attempt int64, reason v1alpha1.RevisionReason, result v1alpha1.GraphPhase, start, end int) v1alpha1.Revision {
	return v1alpha1.Revision{
		Revision: generation, Attempt: attempt, Reason: reason, Result: result, Hash: "sha256:a", StartedAt: v1alpha1.NewMilliTime(at(start)),
		FinishedAt: metav1.NewTime(at(end).Truncate(time.Second)), Duration: at(end).Sub(at(start)).String(), Nodes: 5, Message: "the message",
	}
}

func state(phase v1alpha1.NodePhase, applied, ready int) v1alpha1.NodeState {
	s := v1alpha1.NodeState{Phase: phase, Message: "of " + string(phase)}
	if applied >= 0 {
		s.AppliedAt = v1alpha1.NewMilliTime(at(applied))
	}
	if ready >= 0 {
		s.ReadyAt = v1alpha1.NewMilliTime(at(ready))
	}
	return s
}

func all(string, time.Time) bool { return true }

// lines describes the spans of traces.
func lines(traces []Trace) (found []string) {
	for _, t := range traces {
		for _, s := range t.Data.ResourceSpans[0].ScopeSpans[0].Spans {
			ms := func(nanos uint64) int64 { return time.Unix(0, int64(nanos)).Sub(zero).Milliseconds() }
			line := fmt.Sprintf("%s: %s %d-%d", t.ID, s.Name, ms(s.StartTimeUnixNano), ms(s.EndTimeUnixNano))
			if s.Status.Code == tracepb.Status_STATUS_CODE_ERROR {
				line += " error " + s.Status.Message
			}
			found = append(found, line)
		}
	}
	return found
}

// TestSpans checks the spans of executions: which nodes they have, and when these begin and end.
func TestSpans(t *testing.T) {
	t.Parallel()
	states := map[string]v1alpha1.NodeState{
		"a": state(v1alpha1.NodeReady, 110, 250), "b": state(v1alpha1.NodeReady, 260, 1900), "c": state(v1alpha1.NodeBlocked, -1, -1),
		"d": state(v1alpha1.NodeFailed, 270, -1), "read": state(v1alpha1.NodeReady, -1, 400),
	}
	for name, test := range map[string]struct {
		rg   *v1alpha1.ResourceGraph
		want []string
	}{
		"failed": {graph(states, ran(1, 1, "Spec", "Failed", 100, 2000)), []string{
			"u-1-1: execute ResourceGraph 100-2000 error the message", "u-1-1: node a 110-250", "u-1-1: node b 260-1900",
			"u-1-1: node d 270-2000 error of Failed", "u-1-1: node read 100-400",
		}},
		"failed, then completed in the same run": {
			graph(map[string]v1alpha1.NodeState{"a": state(v1alpha1.NodeReady, 110, 250), "d": state(v1alpha1.NodeReady, 270, 2900)},
				ran(1, 2, "Spec", "Completed", 100, 3000), ran(1, 1, "Spec", "Failed", 100, 2000)), []string{
				"u-1-1: execute ResourceGraph 100-2000 error the message", "u-1-1: node a 110-250",
				"u-1-2: execute ResourceGraph 100-3000", "u-1-2: node d 270-2900",
			},
		},
		"the applier was killed, and began again": {
			graph(map[string]v1alpha1.NodeState{"a": state(v1alpha1.NodeReady, 110, 250), "b": state(v1alpha1.NodeReady, 90_010, 90_020)},
				ran(1, 1, "Spec", "Completed", 90_000, 90_030)), []string{
				"u-1-1: execute ResourceGraph 110-90030", "u-1-1: node a 110-250", "u-1-1: node b 90010-90020",
			},
		},
		"killed in a later generation": {
			graph(map[string]v1alpha1.NodeState{"a": state(v1alpha1.NodeReady, 110, 250), "b": state(v1alpha1.NodeReady, 90_010, 90_020)},
				ran(2, 1, "Spec", "Completed", 90_000, 90_030)), []string{
				"u-2-1: execute ResourceGraph 90000-90030", "u-2-1: node b 90010-90020",
			},
		},
		"drift of one node": {
			graph(map[string]v1alpha1.NodeState{"a": state(v1alpha1.NodeReady, 110, 250), "b": state(v1alpha1.NodeReady, 90_010, 90_020)},
				ran(1, 2, "Drift", "Completed", 90_000, 90_030), ran(1, 1, "Spec", "Completed", 100, 2000)), []string{
				"u-1-1: execute ResourceGraph 100-2000", "u-1-1: node a 110-250",
				"u-1-2: execute ResourceGraph 90000-90030", "u-1-2: node b 90010-90020",
			},
		},
		"another revision": {
			graph(map[string]v1alpha1.NodeState{"a": state(v1alpha1.NodeReady, 110, 250)}, ran(2, 1, "Spec", "Completed", 5000, 5100), ran(1, 1, "Spec", "Completed", 100, 2000)), []string{
				"u-1-1: execute ResourceGraph 100-2000", "u-2-1: execute ResourceGraph 5000-5100",
			},
		},
		"an older version": {graph(nil, v1alpha1.Revision{Revision: 1, Attempt: 1, Result: "Completed", FinishedAt: metav1.NewTime(at(3000)), Duration: "1.5s"}, v1alpha1.Revision{Revision: 1}),
			[]string{"u-1-1: execute ResourceGraph 1500-3000"}},
	} {
		if diff := cmp.Diff(test.want, lines(Of(test.rg, Resource{Version: "v1"}, all))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if traces := Of(graph(states, ran(1, 1, "Spec", "Failed", 100, 2000)), Resource{Version: "v1"}, func(id string, at time.Time) bool { return id != "u-1-1" }); len(traces) > 0 {
		t.Errorf("not wanted: %v", lines(traces))
	}
}

// TestIDs checks that executions until a revision is complete have one trace, later ones their own, and
// that both are the same whenever they are made.
func TestIDs(t *testing.T) {
	t.Parallel()
	rg := graph(map[string]v1alpha1.NodeState{"a": state(v1alpha1.NodeReady, 110, 250)},
		ran(2, 1, "Spec", "Completed", 9000, 9100), ran(1, 3, "Drift", "Completed", 5000, 5100), ran(1, 2, "Requested", "Completed", 3000, 3100), ran(1, 1, "Spec", "Failed", 100, 2000))
	traces := Of(rg, Resource{Version: "v1"}, all)
	var roots []*tracepb.Span
	for _, tr := range traces {
		spans := tr.Data.ResourceSpans[0].ScopeSpans[0].Spans
		roots = append(roots, spans[0])
		for _, s := range spans[1:] {
			if !bytes.Equal(s.ParentSpanId, spans[0].SpanId) || !bytes.Equal(s.TraceId, spans[0].TraceId) {
				t.Errorf("%s isn't below its execution", s.Name)
			}
		}
		if len(spans[0].TraceId) != 16 || len(spans[0].SpanId) != 8 {
			t.Errorf("sizes of ids: %v", spans[0])
		}
	}
	failed, completed, drift, next := roots[0], roots[1], roots[2], roots[3]
	if !bytes.Equal(failed.TraceId, completed.TraceId) || !bytes.Equal(completed.ParentSpanId, failed.SpanId) || len(failed.ParentSpanId) > 0 {
		t.Error("the executions of a revision aren't one trace")
	}
	if bytes.Equal(drift.TraceId, failed.TraceId) || len(drift.Links) != 1 || !bytes.Equal(drift.Links[0].TraceId, failed.TraceId) || !bytes.Equal(drift.Links[0].SpanId, failed.SpanId) {
		t.Error("drift has not its own trace with a link")
	}
	if bytes.Equal(next.TraceId, failed.TraceId) || bytes.Equal(next.SpanId, failed.SpanId) {
		t.Error("two revisions have the same ids")
	}
	for i, again := range Of(rg.DeepCopy(), Resource{Version: "v1"}, all) {
		if !proto.Equal(again.Data, traces[i].Data) {
			t.Errorf("made again: %v", again.Data)
		}
	}
	rg.Status.History = rg.Status.History[:2] // the older entries have left it
	if again := Of(rg, Resource{Version: "v1"}, all)[0].Data.ResourceSpans[0].ScopeSpans[0].Spans[0]; !bytes.Equal(again.TraceId, drift.TraceId) {
		t.Error("drift has another trace when the history is shorter")
	}
}

// TestResource checks the attributes of the resource, which those of the environment replace.
func TestResource(t *testing.T) {
	t.Parallel()
	rg := graph(nil, ran(1, 1, "Spec", "Completed", 100, 2000))
	for want, more := range map[string]map[string]string{
		"service.name=pequod service.version=v1":       nil,
		"a=?b service.name=shop service.version=v1 z=": {"service.name": "shop", "a": "\xffb", "z": ""},
	} {
		var got []string
		resource := Of(rg, Resource{Version: "v1", Attributes: more}, all)[0].Data.ResourceSpans[0].Resource
		for _, a := range resource.Attributes {
			got = append(got, a.Key+"="+a.Value.GetStringValue())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s; want %s", text, want)
		}
	}
}

// TestHostile makes traces of statuses that another program has written.
func TestHostile(t *testing.T) {
	t.Parallel()
	texts := []string{"", "\xff\xfe", strings.Repeat("é", 5000), "a\r\nb\x00", "-1h", "99999999h"}
	pick := func(r *rand.Rand) string { return texts[r.IntN(len(texts))] }
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		rg := graph(map[string]v1alpha1.NodeState{"a": state(v1alpha1.NodePhase(pick(r)), r.IntN(9)-1, r.IntN(9)-1), pick(r): {Message: pick(r)}})
		rg.Name, rg.Spec.Graph.Nodes[0].ID = pick(r), pick(r)
		rg.Spec.Graph.Nodes[1].Resource.Raw = []byte(pick(r))
		for range r.IntN(4) {
			x := ran(int64(r.IntN(2)), int64(r.IntN(3)), v1alpha1.RevisionReason(pick(r)), v1alpha1.GraphPhase([]string{"Failed", "Completed"}[r.IntN(2)]), r.IntN(9), r.IntN(9))
			x.Message, x.Duration, x.Hash = pick(r), pick(r), pick(r)
			if r.IntN(2) == 0 {
				x.StartedAt, x.FinishedAt = nil, metav1.Time{}
			}
			rg.Status.History = append(rg.Status.History, x)
		}
		for _, tr := range Of(rg, Resource{Version: "v1"}, all) {
			body, err := proto.Marshal(tr.Data)
			if err != nil || len(body) > 64<<10 {
				t.Fatalf("seed %d: %d bytes, %v", seed, len(body), err)
			}
			for _, s := range tr.Data.ResourceSpans[0].ScopeSpans[0].Spans {
				if s.EndTimeUnixNano < s.StartTimeUnixNano {
					t.Fatalf("seed %d: %s ends before it begins", seed, s.Name)
				}
			}
		}
	}
}

// TestVerdict checks which answers OTLP permits to repeat.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]outbox.Verdict{
		http.StatusOK: outbox.Delivered, 429: outbox.Repeat, 502: outbox.Repeat, 503: outbox.Repeat, 504: outbox.Repeat,
		400: outbox.Refused, 413: outbox.Refused, 500: outbox.Refused, 501: outbox.Refused, 401: outbox.Repeat, 404: outbox.Repeat,
	} {
		if got := Verdict(&egress.Response{Status: status}); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
	for spans, want := range map[int64]outbox.Verdict{0: outbox.Delivered, 2: outbox.Refused} {
		body, err := proto.Marshal(&coltracepb.ExportTraceServiceResponse{PartialSuccess: &coltracepb.ExportTracePartialSuccess{RejectedSpans: spans, ErrorMessage: "too old"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := Verdict(&egress.Response{Status: 200, Body: body}); got != want {
			t.Errorf("%d rejected spans: %v, want %v", spans, got, want)
		}
		for i := range body { // cut off
			Verdict(&egress.Response{Status: 200, Body: body[:i]})
		}
	}
	for _, body := range []string{"{}", "ok", "\xff\xff\xff", "\x0a\xff\x01"} {
		if got := Verdict(&egress.Response{Status: 200, Body: []byte(body)}); got != outbox.Delivered {
			t.Errorf("%q: %v", body, got)
		}
	}
}
