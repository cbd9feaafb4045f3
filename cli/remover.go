package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/render"
)

// removal is what there is to be removed.
type removal struct {
	// objects are those of the installation that exist, in the order in which
	// they are installed.
	objects []*unstructured.Unstructured
	graphs  []*unstructured.Unstructured
	// own are the names of objects, and of those that Kubernetes makes in every
	// namespace.
	own map[string]bool
}

// empty says that of the applier there is nothing but its definitions.
func (p *removal) empty() bool {
	return !slices.ContainsFunc(p.objects, func(obj *unstructured.Unstructured) bool { return obj.GetKind() != kindCRD })
}

var graphKind = v1alpha1.GroupVersion.WithKind("ResourceGraph")

// refuse says why nothing can be removed.
func (p *removal) refuse(orphan bool) error {
	var ps render.Problems
	for _, obj := range p.objects {
		if obj.GetKind() != "ClusterRoleBinding" {
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(obj.Object, "subjects")
		for _, subject := range subjects {
			if s, ok := subject.(map[string]any); ok && s["namespace"] != installNamespace {
				ps = append(ps, render.Problem{
					Rule: render.RuleGraph,
					Message: fmt.Sprintf("the applier is in namespace %v, as %s says, and not in %s: remove it by what installed it there",
						s["namespace"], kubectlName(obj), installNamespace),
				})
				return ps
			}
		}
	}
	if orphan {
		return nil
	}
	for _, g := range p.graphs {
		if g.GetDeletionTimestamp() != nil {
			ps = append(ps, render.Problem{
				Rule: render.RuleGraph,
				Message: fmt.Sprintf("ResourceGraph %s/%s is being deleted, and without an applier it would wait for ever: "+
					"uninstall when it is gone, or with --orphan-graphs", g.GetNamespace(), g.GetName()),
			})
		}
	}
	if len(ps) > 0 {
		return ps
	}
	return nil
}

// remover removes objects and says so on out, as kubectl does.
type remover struct {
	applier  *applier.Applier
	dynamic  dynamic.Interface
	dryRun   string
	out, err io.Writer
}

func newRemover(a *applier.Applier, dryRun string, out, err io.Writer) *remover {
	return &remover{applier: a, dynamic: dynamic.New(a.Client.REST()), dryRun: dryRun, out: out, err: err}
}

// plan finds out what there is.
func (r *remover) plan(ctx context.Context) (*removal, error) {
	installed, err := applierManifests("", false)
	if err != nil {
		return nil, err
	}
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"})
	lease.SetNamespace(installNamespace)
	lease.SetName(installName)
	p := &removal{own: map[string]bool{"configmap/kube-root-ca.crt": true, "serviceaccount/default": true}}
	for _, obj := range append(installed.objects, lease) {
		live, err := r.get(ctx, obj)
		if err != nil {
			return nil, err
		}
		if live != nil {
			p.objects = append(p.objects, live)
			p.own[kubectlName(live)] = true
		}
	}
	p.graphs, err = r.list(ctx, graphKind, "")
	return p, err
}

// resource is where an object is, nil if its kind isn't served.
func (r *remover) resource(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	kind, err := r.applier.Client.Kinds().Find(ctx, gvk)
	if err != nil {
		var none *cluster.NoKindError
		if errors.As(err, &none) {
			return nil, nil
		}
		return nil, err
	}
	if !kind.Namespaced || namespace == "" {
		return r.dynamic.Resource(kind.Resource), nil
	}
	return r.dynamic.Resource(kind.Resource).Namespace(namespace), nil
}

func (r *remover) get(ctx context.Context, obj *unstructured.Unstructured) (live *unstructured.Unstructured, err error) {
	err = cluster.Retry(ctx, func() error {
		resource, err := r.resource(ctx, obj.GroupVersionKind(), obj.GetNamespace())
		if err != nil || resource == nil {
			return err
		}
		live, err = resource.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			live, err = nil, nil
		}
		return err
	})
	return live, err
}

func (r *remover) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (items []*unstructured.Unstructured, err error) {
	err = cluster.Retry(ctx, func() error {
		resource, err := r.resource(ctx, gvk, namespace)
		if err != nil || resource == nil {
			return err
		}
		list, err := resource.List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		items = nil
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
		return nil
	})
	return items, err
}

// remove asks for the deletion of what was looked at, with all that it controls.
func (r *remover) remove(ctx context.Context, obj *unstructured.Unstructured) error {
	if r.dryRun != "client" {
		options := metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: new(obj.GetUID())},
			PropagationPolicy: new(metav1.DeletePropagationForeground),
		}
		if r.dryRun == "server" {
			options.DryRun = []string{metav1.DryRunAll}
		}
		err := cluster.Retry(ctx, func() error {
			resource, err := r.resource(ctx, obj.GroupVersionKind(), obj.GetNamespace())
			if err != nil || resource == nil {
				return err
			}
			err = resource.Delete(ctx, obj.GetName(), options)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.say(obj, "deleted")
}

func (r *remover) say(obj *unstructured.Unstructured, what string) error {
	if r.dryRun != "none" {
		what += fmt.Sprintf(" (%s dry run)", r.dryRun)
	}
	_, err := fmt.Fprintln(r.out, kubectlName(obj), what)
	return outputError(err)
}

// gone waits until objects are gone, and names those that aren't in time.
func (r *remover) gone(ctx context.Context, objects []*unstructured.Unstructured) error {
	if r.dryRun != "none" {
		return nil
	}
	for left := objects; ; {
		var still []*unstructured.Unstructured
		for _, obj := range left {
			live, err := r.get(ctx, obj)
			if ctx.Err() != nil {
				return r.late(ctx, left)
			}
			if err != nil {
				return err
			}
			if live != nil && live.GetUID() == obj.GetUID() {
				still = append(still, live)
			}
		}
		if left = still; len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return r.late(ctx, left)
		case <-time.After(pollGone / 5):
		}
	}
}

func (r *remover) late(ctx context.Context, left []*unstructured.Unstructured) error {
	for _, obj := range left {
		text := kubectlName(obj) + " isn't gone"
		if held := obj.GetFinalizers(); len(held) > 0 {
			text += ": held by finalizer " + strings.Join(held, ", ")
		}
		fmt.Fprintln(r.err, text)
	}
	return ctx.Err()
}

// kubectlName names an object as kubectl does when it changes one.
func kubectlName(obj *unstructured.Unstructured) string {
	name := strings.ToLower(obj.GetKind())
	if group := obj.GroupVersionKind().Group; group != "" {
		name += "." + group
	}
	name += "/" + obj.GetName()
	if ns := obj.GetNamespace(); ns != "" && ns != installNamespace {
		name += " -n " + ns
	}
	return name
}

// stop ends the program, and waits until its last Pod is gone.
func (r *remover) stop(ctx context.Context, p *removal) error {
	for i, obj := range p.objects {
		if obj.GetKind() != "Deployment" {
			continue
		}
		p.objects = slices.Delete(p.objects, i, i+1)
		if err := r.remove(ctx, obj); err != nil {
			return err
		}
		return r.gone(ctx, []*unstructured.Unstructured{obj})
	}
	return nil
}

// removeRest removes what the program needed, the last installed first, and the
// namespace if nothing else is in it. Definitions go only with the graphs, and
// only where nothing of their kind is left.
func (r *remover) removeRest(ctx context.Context, p *removal, definitions, wait bool) error {
	var removed []*unstructured.Unstructured
	var namespace *unstructured.Unstructured
	for _, obj := range slices.Backward(p.objects) {
		switch obj.GetKind() {
		case kindNamespace:
			namespace = obj
			continue
		case kindCRD:
			if !definitions {
				continue
			}
			if used, err := r.used(ctx, obj); err != nil {
				return err
			} else if used != "" {
				fmt.Fprintf(r.err, "%s stays: %s\n", kubectlName(obj), used)
				continue
			}
		}
		if err := r.remove(ctx, obj); err != nil {
			return err
		}
		removed = append(removed, obj)
	}
	if namespace != nil {
		others, err := r.others(ctx, p)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			fmt.Fprintf(r.err, "namespace/%s stays: it holds %s\n", installNamespace, few(others))
		} else {
			if err := r.remove(ctx, namespace); err != nil {
				return err
			}
			removed = append(removed, namespace)
		}
	}
	if !wait {
		return nil
	}
	return r.gone(ctx, removed)
}

// used says what there is of the kind that a definition defines.
func (r *remover) used(ctx context.Context, definition *unstructured.Unstructured) (string, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if r.dryRun != "none" && kind == graphKind.Kind {
		return "", nil // they would be gone by then
	}
	found, err := r.list(ctx, schema.GroupVersionKind{Group: group, Version: v1alpha1.Version, Kind: kind}, "")
	if err != nil || len(found) == 0 {
		return "", err
	}
	return "there is " + few(found), nil
}

// others finds what is in the applier's namespace that isn't of the applier, nor
// made by Kubernetes for every namespace, nor controlled by something else that
// is found.
func (r *remover) others(ctx context.Context, p *removal) ([]*unstructured.Unstructured, error) {
	kinds, err := r.applier.Client.Kinds().All(ctx)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, gvk := range kinds {
		switch gvk.Kind {
		case "Event", "Endpoints", "PodMetrics":
			continue // they tell of other objects
		}
		kind, err := r.applier.Client.Kinds().Find(ctx, gvk)
		if err != nil {
			return nil, err
		}
		if !kind.Namespaced || !slices.Contains(kind.Verbs, "list") {
			continue
		}
		items, err := r.list(ctx, gvk, installNamespace)
		if err != nil {
			return nil, fmt.Errorf("whether %s holds anything else can't be told: %w", installNamespace, err)
		}
		for _, obj := range items {
			obj.SetGroupVersionKind(gvk)
			if metav1.GetControllerOf(obj) == nil && !p.own[kubectlName(obj)] {
				found = append(found, obj)
			}
		}
	}
	return found, nil
}

// few names objects, of many the first.
func few(objects []*unstructured.Unstructured) string {
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
