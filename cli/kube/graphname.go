package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/inventory"
)

// Graph returns the graph that a user names in one of these forms:
//
//   - the name of a graph, or resourcegraph/NAME
//   - the name of the instance that it was rendered from, or KIND/NAME of the instance
//   - KIND/NAME of an object that the graph owns
//
// The result of a name without a kind that nothing has is the graph of that name, so that the
// caller reports it as missing in its own words. Several graphs of one name are an error.
func (f *ConnectionFlags) Graph(ctx context.Context, a *applier.Applier, arg, namespace string) (inventory.Owner, error) {
	owner := inventory.Owner{Namespace: namespace, Name: arg}
	if err := CheckGraphArgs(namespace, []string{arg}); err != nil {
		return owner, err
	}
	kind, name, typed := strings.Cut(arg, "/")
	switch {
	case !typed:
		return graphOfName(ctx, a, owner)
	case OwnKind(kind) == "ResourceGraph":
		owner.Name = name
		return owner, nil
	}
	object, err := f.Find(ctx, a.Client, kind, name, namespace)
	if err != nil {
		return graphOfUnknownKind(ctx, a, kind, name, namespace, err)
	}
	live, err := a.Client.Get(ctx, object.Key, object.GVK.Version)
	if err != nil {
		return owner, Error(err)
	}
	return graphOfObject(ctx, a, object, live, namespace)
}

// CheckGraphArgs returns an error if an argument can't name a graph in one of the forms of
// [ConnectionFlags.Graph], or if the namespace isn't valid. It needs no cluster.
func CheckGraphArgs(namespace string, args []string) error {
	if err := CheckNames(namespace, nil); err != nil {
		return err
	}
	for _, arg := range args {
		kind, name, typed := strings.Cut(arg, "/")
		if !typed {
			name = arg
		}
		if !typed || OwnKind(kind) == "ResourceGraph" {
			if err := CheckNames(namespace, []string{name}); err != nil {
				return err
			}
			continue
		}
		if len(validation.IsDNS1123Subdomain(strings.ToLower(kind))) > 0 || name == "" || len(content.IsPathSegmentName(name)) > 0 {
			return fmt.Errorf("%q is not a valid graph name", arg)
		}
	}
	return nil
}

// graphOfObject returns the graph of an instance or of an object that a graph owns. live is nil if
// the object doesn't exist: an instance that was rendered elsewhere has a graph all the same.
func graphOfObject(ctx context.Context, a *applier.Applier, object Object, live *unstructured.Unstructured, namespace string) (inventory.Owner, error) {
	owner := inventory.Owner{Namespace: namespace}
	if live != nil {
		labels := live.GetLabels()
		ref, _, _ := unstructured.NestedString(live.Object, "status", "resourceGraphRef", "name")
		switch {
		case ref != "":
			owner.Name = ref
			return owner, nil
		case labels[v1alpha1.LabelGraph] != "":
			return inventory.Owner{Namespace: cmp.Or(labels[v1alpha1.LabelGraphNamespace], namespace), Name: labels[v1alpha1.LabelGraph]}, nil
		}
	}
	owner.Name = v1alpha1.GraphName(object.GVK.Group, object.GVK.Kind, namespace, object.Key.Name)
	there, err := exists(ctx, a, owner)
	switch {
	case err != nil || there:
		return owner, err
	case live == nil:
		return owner, fmt.Errorf("%s: there is no such object", object.Key)
	}
	return owner, fmt.Errorf("%s belongs to no graph", object.Key)
}

// graphOfUnknownKind returns the graph of an instance whose kind the cluster doesn't serve: only
// its graph was applied. unknown is the error without such a graph.
func graphOfUnknownKind(ctx context.Context, a *applier.Applier, kind, name, namespace string, unknown error) (inventory.Owner, error) {
	graphs, err := a.StoredGraphs(ctx, namespace)
	if err != nil {
		return inventory.Owner{}, Error(err)
	}
	kind, group, _ := strings.Cut(kind, ".")
	for _, rg := range graphs {
		ref := rg.Spec.SourceRef
		gv, _ := schema.ParseGroupVersion(ref.APIVersion) // an odd one has no group
		if ref.Name == name && strings.EqualFold(ref.Kind, kind) && (group == "" || gv.Group == group) {
			return inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, nil
		}
	}
	// An inventory doesn't have the kind. The name of the graph depends on its exact spelling.
	owner := inventory.Owner{Namespace: namespace, Name: v1alpha1.GraphName(cmp.Or(group, v1alpha1.DefaultGroup), kind, namespace, name)}
	there, err := exists(ctx, a, owner)
	if err == nil && !there {
		err = fmt.Errorf("%w, and no graph of an instance of that kind; kinds of instances are spelled as in their files", unknown)
	}
	return owner, err
}

// graphOfName returns the graph of a name or, if there is none, of an instance with that name.
func graphOfName(ctx context.Context, a *applier.Applier, owner inventory.Owner) (inventory.Owner, error) {
	if there, err := exists(ctx, a, owner); err != nil || there {
		return owner, err
	}
	graphs, err := a.StoredGraphs(ctx, owner.Namespace)
	if err != nil {
		return owner, Error(err)
	}
	inventories, err := a.Inventories.List(ctx, owner.Namespace)
	if err != nil {
		return owner, Error(err)
	}
	var found []string
	for _, rg := range graphs {
		if rg.Spec.SourceRef.Name == owner.Name {
			found = append(found, rg.Name)
		}
	}
	for _, inv := range inventories {
		if v1alpha1.MayBeGraphName(inv.Owner.Name, owner.Name) && !slices.Contains(found, inv.Owner.Name) {
			found = append(found, inv.Owner.Name)
		}
	}
	switch len(found) {
	case 0:
		return owner, nil
	case 1:
		return inventory.Owner{Namespace: owner.Namespace, Name: found[0]}, nil
	}
	slices.Sort(found)
	return owner, fmt.Errorf("%q: several graphs are of an instance of this name; name one of them: %s", owner.Name, strings.Join(found, ", "))
}

// exists reports whether a graph has a ResourceGraph or an inventory.
func exists(ctx context.Context, a *applier.Applier, owner inventory.Owner) (bool, error) {
	rg, err := a.StoredGraph(ctx, owner)
	if rg != nil || err != nil && !apierrors.IsForbidden(err) { // the inventory may be readable
		return rg != nil, Error(err)
	}
	inv, err := a.Inventories.Load(ctx, owner)
	return err == nil && inv.Revision != "", Error(err)
}
