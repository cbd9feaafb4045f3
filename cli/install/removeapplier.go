package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/problem"
)

// checkLeases returns an error if an applier is running although the Deployment is
// gone, such as one started by hand, or one of other graphs. It decides by the Leases of
// the leader elections:
//
//   - No Lease, or a Lease without a holder: no applier is running.
//   - A Lease changes while it is watched: an applier renews it.
//   - A Lease stays unchanged for its full duration: its holder was killed.
//
// The duration is measured by the clock of this machine from the first read. The
// renewTime in the Lease is only compared for equality, because the clock of the
// holder may be wrong.
func (r *remover) checkLeases(ctx context.Context, leases []*unstructured.Unstructured) error {
	if r.dryRun != "none" {
		return nil
	}
	start, renewals := time.Now(), map[types.UID]string{}
	for {
		var left []*unstructured.Unstructured
		for _, lease := range leases {
			held, err := r.checkLease(ctx, lease, renewals, time.Since(start))
			if err != nil {
				return err
			}
			if held {
				left = append(left, lease)
			}
		}
		if leases = left; len(leases) == 0 {
			return nil
		}
		if err := sleep(ctx); err != nil {
			return err
		}
	}
}

// checkLease returns an error if an applier has renewed a Lease since the first call, and
// otherwise reports whether one may still hold it. The map has the last renewal of each
// Lease, and waited is the time since the first call.
func (r *remover) checkLease(ctx context.Context, lease *unstructured.Unstructured, renewals map[types.UID]string, waited time.Duration) (held bool, err error) {
	live, err := r.get(ctx, lease)
	if err != nil || live == nil {
		return false, err
	}
	holder, _, _ := unstructured.NestedString(live.Object, "spec", "holderIdentity")
	renewal, _, _ := unstructured.NestedString(live.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(live.Object, "spec", "leaseDurationSeconds")
	// The holder is part of the comparison: another holder is a sign of life, too.
	renewal = holder + " " + renewal
	switch last := renewals[lease.GetUID()]; {
	case holder == "": // a clean shutdown gives up the Lease
		return false, nil
	case last == "":
		renewals[lease.GetUID()] = renewal
	case renewal != last:
		return false, problem.List{{
			Rule:    problem.RuleGraph,
			Message: fmt.Sprintf("%s is still running: %s renews the lease %s/%s", r.mode.article(), holder, live.GetNamespace(), live.GetName()),
		}}
	}
	return waited <= time.Duration(seconds)*time.Second, nil
}

// removeRest deletes the objects that the applier needed, in reverse order of
// installation, and returns the objects that it deleted. CRDs are deleted only
// with definitions set, and only if no object of their kind is left: deleting a
// CRD deletes all of its objects. The namespace is deleted last, and only if it
// contains nothing else. Objects that are kept are reported on stderr and are no
// error.
func (r *remover) removeRest(ctx context.Context, found *installed, definitions bool) (removed []*unstructured.Unstructured, err error) {
	remove := func(obj *unstructured.Unstructured) error {
		removed = append(removed, obj)
		return r.delete(ctx, obj)
	}
	for _, obj := range slices.Backward(found.objects) {
		switch obj.GetKind() {
		case "Deployment", kindNamespace: // already gone, and below
			continue
		case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			// Without them, users could change graphs that a manager executes later.
			if len(found.graphs) > 0 && !definitions {
				continue
			}
		case kindCRD:
			if !definitions || found.besideGraphs {
				continue
			}
			objects, err := r.instances(ctx, obj)
			var unavailable *cluster.UnavailableKindError
			if errors.As(err, &unavailable) {
				fmt.Fprintf(r.env.Err, "%s is kept: %v\n", kubectlName(obj), err)
				continue
			}
			if err != nil {
				return nil, err
			}
			if len(objects) > 0 {
				fmt.Fprintf(r.env.Err, "%s is kept: %s still exists\n", kubectlName(obj), summarize(objects))
				continue
			}
		}
		if err := remove(obj); err != nil {
			return nil, err
		}
	}
	namespace := found.find(kindNamespace)
	if namespace == nil || found.beside {
		return removed, nil
	}
	others, missed, err := r.foreignObjects(ctx, found)
	if err != nil {
		return nil, err
	}
	if len(missed) > 0 {
		fmt.Fprintf(r.env.Err, "namespace/%s is kept: it may contain objects of API group %s, which isn't available: %s\n",
			installNamespace, missed[0].Group, missed[0].Reason)
		return removed, nil
	}
	if len(others) > 0 {
		fmt.Fprintf(r.env.Err, "namespace/%s is kept: it contains %s\n", installNamespace, summarize(others))
		return removed, nil
	}
	return removed, remove(namespace)
}

// instances returns the objects of the kind that a CRD defines, in all
// namespaces.
func (r *remover) instances(ctx context.Context, crd *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	if r.dryRun != "none" && kind == graphKind.Kind {
		return nil, nil // without the dry run, the graphs would be gone by now
	}
	return r.listServed(ctx, schema.GroupVersionKind{Group: group, Version: v1alpha1.Version, Kind: kind})
}

// foreignObjects returns the objects in the applier's namespace that are neither
// part of the installation, nor created by Kubernetes in every namespace, nor
// controlled by another object. It lists every kind that the cluster serves and
// allows to delete, one request per kind. API groups that can't be discovered or listed
// are returned, too: they may hide objects.
func (r *remover) foreignObjects(ctx context.Context, found *installed) (foreign []*unstructured.Unstructured, missed []engine.Unsearched, err error) {
	// Kubernetes creates these two in every namespace.
	own := map[string]bool{"configmap/kube-root-ca.crt": true, "serviceaccount/default": true}
	for _, obj := range found.objects {
		own[kubectlName(obj)] = true
	}
	kinds, missed, err := r.applier.Client.Kinds().ListDeletable(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, gvk := range kinds {
		if gvk.Kind == "Event" || gvk.Kind == "Endpoints" {
			continue // they only describe other objects
		}
		kind, err := r.applier.Client.Kinds().Find(ctx, gvk)
		switch {
		case err != nil && ignoreAbsent(err) == nil:
			continue // its CRD was deleted meanwhile, probably above
		case err != nil:
			return nil, nil, err
		case !kind.Namespaced:
			continue
		}
		items, err := r.list(ctx, cluster.Selection{GVK: gvk, Namespace: installNamespace})
		switch {
		case cluster.ConcernsKind(err):
			missed = append(missed, engine.Unsearched{Group: gvk.Group, Reason: cluster.Classify(err).Error()})
		case err != nil:
			return nil, nil, fmt.Errorf("looking for other objects in namespace %s: %w", installNamespace, err)
		}
		for _, obj := range items {
			if metav1.GetControllerOf(obj) == nil && !own[kubectlName(obj)] {
				foreign = append(foreign, obj)
			}
		}
	}
	return foreign, missed, nil
}

// summarize names the first three objects and counts the others: "a, b, c and 2
// more".
func summarize(objects []*unstructured.Unstructured) string {
	const most = 3
	var names []string
	for _, obj := range objects[:min(most, len(objects))] {
		names = append(names, kubectlName(obj))
	}
	text := strings.Join(names, ", ")
	if more := len(objects) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
