package consequences

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/test/harness"
)

// state has the objects of one time that a change may lose.
type state struct {
	addresses []string
	// data are the claims with a volume, as namespace/claim without the namespace of
	// the test.
	data    []string
	objects []string
}

// stateOf reads the state of a namespace, with the objects of manifests.
func stateOf(t *testing.T, c *harness.Cluster, manifests []map[string]any) state {
	t.Helper()
	var s state
	for _, m := range manifests {
		o := read(t, c, m)
		if o == nil || o.GetDeletionTimestamp() != nil && o.GetKind() != "PersistentVolumeClaim" {
			continue
		}
		s.objects = append(s.objects, nameOf(m))
		s.addresses = append(s.addresses, addresses(o)...)
	}
	volumes, err := c.Client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes.Items {
		if v.Spec.ClaimRef == nil || !strings.HasPrefix(v.Spec.ClaimRef.Namespace, c.Namespace) {
			continue
		}
		retained := v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain
		if v.DeletionTimestamp != nil && !retained {
			continue
		}
		claim, err := c.Client.CoreV1().PersistentVolumeClaims(v.Spec.ClaimRef.Namespace).Get(t.Context(), v.Spec.ClaimRef.Name, metav1.GetOptions{})
		ends := err != nil || claim.DeletionTimestamp != nil
		if !ends || retained {
			s.data = append(s.data, v.Spec.ClaimRef.Name)
		}
	}
	return s
}

// addresses returns the addresses at which others reach an object.
func addresses(o *unstructured.Unstructured) []string {
	var found []string
	switch o.GetKind() {
	case "Service":
		var hosts []string
		if ip, _ := jsonvalue.Field(o.Object, "spec", "clusterIP").(string); ip != "" && ip != "None" {
			hosts = append(hosts, "cluster address "+ip)
		}
		ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
		for _, i := range ingress {
			hosts = append(hosts, fmt.Sprint("load balancer ", jsonvalue.Field(i.(map[string]any), "ip")))
		}
		ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
		for _, p := range ports {
			p := p.(map[string]any)
			for _, host := range hosts {
				found = append(found, fmt.Sprintf("%s port %v/%v", host, p["port"], p["protocol"]))
			}
			if p["nodePort"] != nil {
				found = append(found, fmt.Sprintf("node port %v", p["nodePort"]))
			}
		}
	case "Ingress":
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		for _, r := range rules {
			r := r.(map[string]any)
			paths, _, _ := unstructured.NestedSlice(r, "http", "paths")
			for _, p := range paths {
				found = append(found, fmt.Sprint("host ", r["host"], p.(map[string]any)["path"]))
			}
		}
	}
	return found
}

// nameOf returns the name of a manifest in messages.
func nameOf(m map[string]any) string {
	return fmt.Sprint(m["kind"], "/", jsonvalue.Field(m, "metadata", "name"))
}

// read returns a live object, or nil if it doesn't exist.
func read(t *testing.T, c *harness.Cluster, m map[string]any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: m}
	client, err := c.Resource(u.GetAPIVersion(), u.GetKind(), u.GetNamespace())
	if err != nil {
		return nil // the definition of its kind is gone
	}
	o, err := client.Get(t.Context(), u.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// missing returns the members of a that b doesn't have.
func missing(a, b []string) []string {
	var found []string
	for _, v := range a {
		if !slices.Contains(b, v) && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	slices.Sort(found)
	return found
}

// settled reports whether the workloads have reached what their manifests ask for.
func settled(ctx context.Context, c *harness.Cluster, manifests []map[string]any) bool {
	for _, m := range manifests {
		u := &unstructured.Unstructured{Object: m}
		if !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "PersistentVolumeClaim"}, u.GetKind()) {
			continue
		}
		client, err := c.Resource(u.GetAPIVersion(), u.GetKind(), u.GetNamespace())
		if err != nil {
			return false
		}
		o, err := client.Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil || !reached(o) {
			return false
		}
	}
	return true
}

// reached reports whether the controller of a workload has nothing to do any more.
func reached(o *unstructured.Unstructured) bool {
	n := func(path ...string) float64 { f, _ := jsonvalue.Number(jsonvalue.Field(o.Object, path...)); return f }
	if n("status", "observedGeneration") < n("metadata", "generation") {
		return false
	}
	switch o.GetKind() {
	case "PersistentVolumeClaim":
		return jsonvalue.Field(o.Object, "status", "phase") == "Bound"
	case "DaemonSet":
		want := n("status", "desiredNumberScheduled")
		return n("status", "numberAvailable") == want && n("status", "updatedNumberScheduled") == want
	case "StatefulSet":
		return n("status", "readyReplicas") == n("spec", "replicas") && n("status", "updatedReplicas") == n("spec", "replicas")
	case "ReplicaSet":
		return n("status", "replicas") == n("spec", "replicas") && n("status", "readyReplicas") == n("spec", "replicas")
	}
	return n("status", "replicas") == n("spec", "replicas") && n("status", "updatedReplicas") == n("spec", "replicas") &&
		n("status", "availableReplicas") == n("spec", "replicas")
}
