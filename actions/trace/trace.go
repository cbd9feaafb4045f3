package trace

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// maxText is the number of bytes of a message.
const maxText = 1024

// Trace is the trace of an execution of a graph, or the part of it if the execution is one of several
// of a revision.
type Trace struct {
	// ID is the same whenever the trace is made.
	ID string
	// At is the end of the execution.
	At time.Time
	// Data is what OTLP sends.
	Data *tracepb.TracesData
}

// Resource describes the program that traces are of.
type Resource struct {
	// Version is that of the program.
	Version string
	// Attributes are more attributes. They replace service.name and service.version if they have them.
	Attributes map[string]string
}

// Of returns the traces of the executions in the status of a graph that are wanted, by their id and time,
// oldest first. Only the last execution has all spans of its nodes, because the status has only the newest
// state of each node.
func Of(rg *v1alpha1.ResourceGraph, of Resource, wanted func(id string, at time.Time) bool) (traces []Trace) {
	all := executions(rg)
	for _, x := range all {
		t := Trace{ID: fmt.Sprintf("%s-%d-%d", rg.UID, x.Revision.Revision, x.Attempt), At: x.end}
		if !wanted(t.ID, t.At) {
			continue
		}
		id, root := traceID(rg, x), spanID(rg, x.Revision, "")
		span := &tracepb.Span{
			TraceId: id, SpanId: root, Name: "execute ResourceGraph", Kind: tracepb.Span_SPAN_KIND_INTERNAL,
			StartTimeUnixNano: nanos(x.start), EndTimeUnixNano: nanos(x.end), Attributes: attributesOf(rg, x),
			Status: statusOf(x.Result == v1alpha1.GraphFailed, x.Message),
		}
		first := x.Revision
		first.Attempt = 1
		switch {
		case x.first && x.Attempt > 1:
			span.ParentSpanId = spanID(rg, first, "")
		case !x.first:
			revision := x
			revision.first = true
			span.Links = []*tracepb.Span_Link{{TraceId: traceID(rg, revision), SpanId: spanID(rg, first, "")}}
		}
		spans := []*tracepb.Span{span}
		if last := all[len(all)-1]; last.Revision.Revision == x.Revision.Revision {
			spans = append(spans, nodeSpans(rg, x, id, root)...)
		}
		t.Data = data(spans, of)
		traces = append(traces, t)
	}
	return traces
}

// nodeSpans returns the spans of the nodes that an execution worked on, in the order of the graph.
func nodeSpans(rg *v1alpha1.ResourceGraph, x execution, trace, parent []byte) (spans []*tracepb.Span) {
	for _, n := range rg.Spec.Graph.Nodes {
		state, ok := rg.Status.NodeStates[n.ID]
		if !ok {
			continue
		}
		start, end, ok := x.period(state)
		if !ok {
			continue
		}
		kind, object := identity(n, rg.Namespace)
		spans = append(spans, &tracepb.Span{
			TraceId: trace, SpanId: spanID(rg, x.Revision, n.ID), ParentSpanId: parent, Name: "node " + source.OneLine(n.ID, maxText),
			Kind: tracepb.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: nanos(start), EndTimeUnixNano: nanos(end),
			Attributes: []*commonpb.KeyValue{
				text("k8s.namespace.name", rg.Namespace), text("pequod.graph", rg.Name), number("pequod.revision", x.Revision.Revision),
				text("pequod.node", n.ID), text("pequod.kind", kind), text("pequod.object", object), text("pequod.result", string(state.Phase)),
			},
			Status: statusOf(state.Phase == v1alpha1.NodeFailed, state.Message),
		})
	}
	return spans
}

// identity returns the kind of a node's object, such as apps/v1/Deployment, and NAMESPACE/NAME.
func identity(n v1alpha1.Node, namespace string) (kind, object string) {
	var of metav1.PartialObjectMetadata
	switch {
	case n.Resource != nil:
		// An object that can't be read has no kind here; the applier refuses it.
		_ = json.Unmarshal(n.Resource.Raw, &of)
	case n.ExternalRef != nil:
		of.APIVersion, of.Kind, of.Namespace, of.Name = n.ExternalRef.APIVersion, n.ExternalRef.Kind, n.ExternalRef.Namespace, n.ExternalRef.Name
	}
	if of.Namespace != "" {
		namespace = of.Namespace
	}
	return of.APIVersion + "/" + of.Kind, namespace + "/" + of.Name
}

// attributesOf returns the attributes of an execution.
func attributesOf(rg *v1alpha1.ResourceGraph, x execution) []*commonpb.KeyValue {
	return []*commonpb.KeyValue{
		text("k8s.namespace.name", rg.Namespace), text("pequod.graph", rg.Name), text("pequod.graph.uid", string(rg.UID)),
		number("pequod.revision", x.Revision.Revision), number("pequod.attempt", x.Attempt), text("pequod.reason", string(x.Reason)),
		text("pequod.result", string(x.Result)), text("pequod.render_hash", x.Hash), number("pequod.nodes", int64(x.Nodes)),
		number("pequod.created", int64(x.Created)), number("pequod.updated", int64(x.Updated)), number("pequod.deleted", int64(x.Deleted)),
	}
}

// statusOf returns the status of a span.
func statusOf(failed bool, message string) *tracepb.Status {
	if failed {
		return &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: source.OneLine(message, maxText)}
	}
	return &tracepb.Status{}
}

// data returns spans as OTLP sends them.
func data(spans []*tracepb.Span, of Resource) *tracepb.TracesData {
	values := map[string]string{"service.name": "pequod", "service.version": of.Version}
	maps.Copy(values, of.Attributes)
	resource := &resourcepb.Resource{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		resource.Attributes = append(resource.Attributes, text(key, values[key]))
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: resource,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{Name: "github.com/pequod-io/pequod", Version: of.Version}, Spans: spans,
		}},
	}}}
}

// traceID returns the id of the trace of an execution. Executions until a revision is complete have one
// trace, and each execution after that its own.
func traceID(rg *v1alpha1.ResourceGraph, x execution) []byte {
	attempt := x.Attempt
	if x.first {
		attempt = 0
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "trace %s %d %d", rg.UID, x.Revision.Revision, attempt))
	return slices.Clone(sum[:16])
}

// spanID returns the id of the span of an execution, or of one of its nodes.
func spanID(rg *v1alpha1.ResourceGraph, r v1alpha1.Revision, node string) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "span %s %d %d %s", rg.UID, r.Revision, r.Attempt, node))
	return slices.Clone(sum[:8])
}

func nanos(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) }

// text returns an attribute. Protobuf refuses text that isn't UTF-8, which OneLine never returns.
func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: source.OneLine(key, maxText), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: source.OneLine(value, maxText)}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}
