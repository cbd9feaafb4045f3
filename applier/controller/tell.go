package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
)

// warn records an Event of the graph, about an object of it or about all.
func (r *run) warn(reason, action string, about *engine.Status, text string) {
	r.happened(corev1.EventTypeWarning, reason, action, about, text)
}

func (r *run) tell(reason, action string, about *engine.Status, text string) {
	r.happened(corev1.EventTypeNormal, reason, action, about, text)
}

func (r *run) happened(kind, reason, action string, about *engine.Status, text string) {
	// Events that are about the same two objects count as one that is repeated,
	// and the text of the first stays.
	var related runtime.Object
	if about != nil {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Group: about.Key.Group, Version: about.Version, Kind: about.Key.Kind})
		obj.SetNamespace(about.Key.Namespace)
		obj.SetName(about.Key.Name)
		related = obj
		text = fmt.Sprintf("node %s: %s%s", about.ID, about.Key, text)
	}
	r.d.c.events.Eventf(r.graph, related, kind, reason, action, "%s", source.OneLine(text, maxNote))
}

// maxNote is what an Event may hold, and a little less.
const maxNote = 1000

// tellApplied tells of what was done to an object beyond what the graph asks for.
func (r *run) tellApplied(s *engine.Status) {
	switch s.Op {
	case engine.Corrected:
		r.tellDrift(s, "DriftCorrected", " was changed by others and is as the graph says again")
	case engine.Adopted:
		r.tell("Adopted", "Apply", s, " is the graph's now")
		r.d.c.Metrics.AdoptionDone(r.d.key.Namespace, r.d.key.Name, r.adoption(), nil)
	case engine.Created:
		// What a completed graph lacks, somebody removed.
		if in := r.stored; in != nil && in.Complete && in.Revision == r.engine.Inventory().Revision {
			r.tellDrift(s, "DriftCorrected", " was deleted by others and is made anew")
		}
	}
}

func (r *run) tellDrift(s *engine.Status, reason, what string) {
	r.d.c.Metrics.Drift(r.d.key.Namespace, r.d.key.Name, s.ID)
	r.tell(reason, "Apply", s, what+taken(s))
}

// taken names the fields that others changed, and who did.
func taken(s *engine.Status) string {
	const most = 5
	var fields []string
	for i, t := range s.Taken {
		if i == most {
			fields = append(fields, fmt.Sprintf("and %d more", len(s.Taken)-most))
			break
		}
		fields = append(fields, t.Field+" by "+t.Manager)
	}
	if len(fields) == 0 {
		return ""
	}
	return ": " + strings.Join(fields, ", ")
}

// leftSo says of an object that others changed it, and that it is left so.
func leftSo(s *engine.Status) string {
	if !s.Drifted {
		return ""
	}
	return source.OneLine("was changed by others"+taken(s), v1alpha1.MaxMessage)
}

// adoption is how the graph says what it takes over.
func (r *run) adoption() string {
	if a := r.graph.Spec.Adopt; a != nil && a.Mode != "" {
		return string(a.Mode)
	}
	return string(v1alpha1.AdoptExplicit)
}

// tellFailure tells of a failure once, however often it is tried again.
func (r *run) tellFailure(s *engine.Status) {
	if s.Phase != v1alpha1.NodeFailed {
		delete(r.failed, s.ID)
		return
	}
	if r.failed == nil {
		r.failed = map[string]string{}
	}
	ns, name, m := r.d.key.Namespace, r.d.key.Name, r.d.c.Metrics
	what := s.Reason + s.Message
	if s.Reason != engine.ReasonReadinessTimeout {
		m.NodeApplyFailed(ns, name, s.ID, s.Reason)
	}
	if r.failed[s.ID] == what {
		return
	}
	r.failed[s.ID] = what
	switch s.Reason {
	case engine.ReasonReadinessTimeout:
		m.ReadinessTimeout(ns, name, s.ID)
		r.warn("ReadinessTimeout", "Wait", s, ": "+s.Message)
	case engine.ReasonAdoptionRequired, engine.ReasonOwnedElsewhere:
		m.AdoptionDone(ns, name, r.adoption(), errors.New(s.Message))
		r.warn("AdoptionFailed", "Adopt", s, ": "+s.Message)
	default:
		r.warn("ApplyFailed", "Apply", s, ": "+s.Message)
	}
}

// release takes the finalizer away.
func (c *controller) release(ctx context.Context, rg *v1alpha1.ResourceGraph) (string, error) {
	var version string
	var err error
	for range 5 {
		var live *v1alpha1.ResourceGraph
		if live, err = c.read(ctx, keyOf(rg)); err != nil || live.UID != rg.UID {
			return "", err
		}
		if version, err = c.finalize(ctx, live, false); !apierrors.IsConflict(err) {
			return version, err
		}
	}
	return version, err
}
