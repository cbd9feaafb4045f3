package install

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/internal/problem"
)

// The kinds that the manifests don't contain as objects: all but Leases belong to users, and the
// applier creates its Lease itself.
var (
	graphKind    = v1alpha1.GroupVersion.WithKind("ResourceGraph")
	actionKind   = v1alpha1.GroupVersion.WithKind("Action")
	monitorKind  = v1alpha1.GroupVersion.WithKind("Monitor")
	receiverKind = v1alpha1.GroupVersion.WithKind("Receiver")
	leaseKind    = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
)

// installed is the state of the cluster before an uninstall. It is read once: the
// steps of the uninstall don't look for objects that appear in the meantime,
// except for the contents of the namespace and the objects of the CRDs.
type installed struct {
	// objects are the existing objects of the installation, in the order in which
	// install applies them, and last the Secret and the Leases that appliers create themselves.
	objects []*unstructured.Unstructured
	// leases are the Leases of all appliers of the cluster, also of those in other
	// namespaces.
	leases []*unstructured.Unstructured
	// graphs are the ResourceGraphs of all namespaces that the program executes.
	graphs []*unstructured.Unstructured
	// beside reports whether another program is installed, and besideGraphs whether one is that
	// executes graphs.
	beside, besideGraphs bool
	// actions, monitors and receivers are those of all namespaces, if the program executes them.
	actions, monitors, receivers []*unstructured.Unstructured
}

// findInstalled reads the objects of the installation and the graphs. It looks
// for the objects that this version installs, also if another tool created them. It
// writes nothing. An object that only another version installs is not found, and stays.
func (r *remover) findInstalled(ctx context.Context) (*installed, error) {
	manifests, err := variant{mode: r.mode, constrained: r.mode.operator, webhooks: r.mode.webhooks != nil}.manifests(func(*unstructured.Unstructured) bool { return true })
	if err != nil {
		return nil, err
	}
	found := &installed{}
	for _, obj := range manifests.objects {
		live, err := r.get(ctx, obj)
		if err != nil {
			return nil, err
		}
		if live != nil {
			found.objects = append(found.objects, live)
		}
	}
	secret, err := r.webhookSecret(ctx)
	if err != nil {
		return nil, err
	}
	if secret != nil {
		found.objects = append(found.objects, secret)
	}
	if found.leases, err = r.findLeases(ctx); err != nil {
		return nil, err
	}
	for _, lease := range found.leases {
		if lease.GetNamespace() == installNamespace {
			found.objects = append(found.objects, lease)
		}
	}
	lists := map[schema.GroupVersionKind]*[]*unstructured.Unstructured{graphKind: &found.graphs}
	if r.mode.actions {
		lists = map[schema.GroupVersionKind]*[]*unstructured.Unstructured{
			actionKind: &found.actions, monitorKind: &found.monitors, receiverKind: &found.receivers,
		}
	}
	for kind, list := range lists {
		if *list, err = r.listServed(ctx, kind); err != nil {
			return nil, err
		}
	}
	found.graphs = slices.DeleteFunc(found.graphs, func(g *unstructured.Unstructured) bool { return !r.mode.executes(g) })
	for _, program := range r.mode.others() {
		live, err := r.get(ctx, deploymentOf(program))
		if err != nil {
			return nil, err
		}
		found.beside = found.beside || live != nil
		found.besideGraphs = found.besideGraphs || live != nil && executesGraphs(program)
	}
	return found, nil
}

// findLeases returns the Leases of all appliers. That of an applier of an earlier version
// has no label, and is found by its name.
func (r *remover) findLeases(ctx context.Context) ([]*unstructured.Unstructured, error) {
	leases, err := r.list(ctx, cluster.Selection{GVK: leaseKind, Labels: "app.kubernetes.io/name=" + r.mode.program})
	if err != nil {
		return nil, err
	}
	named := &unstructured.Unstructured{}
	named.SetGroupVersionKind(leaseKind)
	named.SetNamespace(installNamespace)
	named.SetName(r.mode.program)
	live, err := r.get(ctx, named)
	if err == nil && live != nil && !slices.ContainsFunc(leases, func(l *unstructured.Unstructured) bool { return l.GetUID() == live.GetUID() }) {
		leases = append(leases, live)
	}
	return leases, err
}

// find returns the first object of a kind, nil if there is none.
func (f *installed) find(kind string) *unstructured.Unstructured {
	for _, obj := range f.objects {
		if obj.GetKind() == kind {
			return obj
		}
	}
	return nil
}

// onlyDefinitions reports whether nothing is left of the program but its CRDs and what
// protects graphs, or what belongs to the other mode. It is true for an empty state, too.
func (f *installed) onlyDefinitions() bool {
	return !slices.ContainsFunc(f.objects, func(obj *unstructured.Unstructured) bool {
		return !protects(obj) && obj.GetKind() != kindCRD && (!f.beside || obj.GetKind() != kindNamespace)
	})
}

// check returns the reasons not to uninstall, as a problem.List:
//
//   - The ClusterRoleBinding names an applier in another namespace.
//   - A graph or an Action is being deleted, and only the program can finish that.
//
// With orphan, graphs may be in deletion: their release includes the removal of
// the finalizer.
func (f *installed) check(m mode, orphan bool) error {
	for _, obj := range f.objects {
		if obj.GetKind() != "ClusterRoleBinding" {
			continue
		}
		// A kustomization can move the applier to another namespace. Its
		// cluster-scoped objects then have the same names.
		subjects, _, _ := unstructured.NestedSlice(obj.Object, "subjects")
		for _, subject := range subjects {
			if s, ok := subject.(map[string]any); ok && s["namespace"] != installNamespace {
				return problem.List{{
					Rule: problem.RuleGraph,
					Message: fmt.Sprintf("the %s runs in namespace %v according to %s, not in %s; uninstall it with the tool that installed it",
						m.noun, s["namespace"], kubectlName(obj), installNamespace),
				}}
			}
		}
	}
	var ps problem.List
	for _, g := range f.graphs {
		if g.GetDeletionTimestamp() != nil && !orphan {
			ps = append(ps, problem.Problem{
				Rule: problem.RuleGraph,
				Message: fmt.Sprintf("ResourceGraph %s/%s is being deleted, which takes %s; uninstall when it is gone, or use --orphan-graphs",
					g.GetNamespace(), g.GetName(), m.article()),
			})
		}
	}
	for _, a := range f.actions {
		if a.GetDeletionTimestamp() != nil {
			ps = append(ps, problem.Problem{
				Rule: problem.RuleGraph,
				Message: fmt.Sprintf("Action %s/%s is being deleted, which takes %s; uninstall when it is gone, or label it pequod.io/paused=true to let it go",
					a.GetNamespace(), a.GetName(), m.article()),
			})
		}
	}
	return ps.Err()
}
