package controller_test

import (
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

func TestDriftIsCorrected(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", webService))
	b.ready("web")
	b.patch("v1", "ConfigMap", "web", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "web") == "one" })
	b.event("web", "DriftCorrected", "node config: ConfigMap "+b.Namespace+"/web was changed by others and has been corrected: data.a by somebody")
	b.ready("web")

	if err := b.resource("v1", "Service").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("made anew", func(ctx ctx) bool { return b.exists(ctx, "v1", "Service", "web") })
	b.event("web", "DriftCorrected", "node service: Service "+b.Namespace+"/web was deleted by others and has been recreated")
	b.ready("web")

	// What was taken from the graph is its own again: labels, too.
	b.patch("v1", "ConfigMap", "web", "somebody", `{"metadata":{"labels":{"pequod.io/managed":null,"pequod.io/graph":null}}}`)
	b.eventually("labelled again", func(ctx ctx) bool {
		obj, err := b.resource("v1", "ConfigMap").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && obj.GetLabels()["pequod.io/graph"] == "web" && obj.GetLabels()["pequod.io/managed"] == "true"
	})
	// The label of another graph doesn't give an object away.
	b.patch("v1", "ConfigMap", "address", "somebody", `{"metadata":{"labels":{"pequod.io/graph":"other"}}}`)
	b.eventually("seen", func(ctx ctx) bool {
		rg, err := b.get(ctx, "web")
		return err == nil && rg.Status.NodeStates["address"].Phase != v1alpha1.NodeReady || b.label(ctx, "address") == "web"
	})
}

func (b *env) label(ctx ctx, name string) string {
	obj, err := b.resource("v1", "ConfigMap").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return obj.GetLabels()["pequod.io/graph"]
}

func TestDriftIsReported(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "one")), func(s *v1alpha1.ResourceGraphSpec) { s.DriftPolicy = v1alpha1.DriftReport }))
	b.ready("web")
	b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"other"}}`)
	b.event("web", "DriftDetected", "node a: ConfigMap "+b.Namespace+"/a was changed by others and is left as it is (spec.driftPolicy: Report): data.a by somebody")
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.NodeStates["a"].Message == "" {
			return errNotYet
		}
		return isReady(rg)
	})
	if got := b.data(t.Context(), "a"); got != "other" {
		t.Errorf("data is %q; the policy says to leave it", got)
	}
	// What isn't there can't be left as it is.
	if err := b.resource("v1", "ConfigMap").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("made anew", func(ctx ctx) bool { return b.data(ctx, "a") == "one" })
	b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"other"}}`)
	// Another policy is another thing to do.
	b.apply(b.rendered("web", nodes(configMap("a", "a", "one"))))
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "one" })
	b.ready("web")
}

func TestStatusFollowsReadiness(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", webService))
	b.ready("web")
	// Another client sets an image that cannot be pulled. Ignoring that drift
	// would hide the failure, so it is corrected; failures without drift are
	// reported.
	pods, err := b.Client.CoreV1().Pods(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%d Pods: %v", len(pods.Items), err)
	}
	start := time.Now()
	for _, p := range pods.Items {
		if err := b.Client.CoreV1().Pods(b.Namespace).Delete(t.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.ready("web")
	t.Logf("ready again after %v", time.Since(start))
}

// What happens to the objects of an instance is shown on the instance, if it owns the graph.
func TestEventsOfInstance(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	owner := b.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {name: instance}}`)[0]
	for name, kind := range map[string]string{"web": "Secret", "other": "ConfigMap"} {
		rg := b.rendered(name, nodes(configMap("a", name, "one")), func(s *v1alpha1.ResourceGraphSpec) {
			s.SourceRef = v1alpha1.ObjectRef{APIVersion: "v1", Kind: kind, Namespace: b.Namespace, Name: "instance"}
		})
		rg.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "instance", UID: owner.GetUID(), Controller: new(true)}}
		b.apply(rg)
		b.ready(name)
		b.patch("v1", "ConfigMap", name, "somebody", `{"data":{"a":"other"}}`)
		b.event(name, "DriftCorrected", "ConfigMap "+b.Namespace+"/"+name)
	}
	var list *eventsv1.EventList
	b.eventually("an Event of the instance", func(ctx ctx) (ok bool) {
		var err error
		list, err = b.Client.EventsV1().Events(b.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "regarding.kind=Secret"})
		return err == nil && len(list.Items) > 0
	})
	for _, e := range list.Items {
		if e.Reason != "DriftCorrected" || e.Regarding.UID != owner.GetUID() || e.Regarding.Name != "instance" || e.Related == nil || e.Related.Name != "web" {
			t.Errorf("Event %s of %+v, related to %+v", e.Reason, e.Regarding, e.Related)
		}
	}
}
