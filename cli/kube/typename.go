package kube

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// Object is an object that the command line names.
type Object struct {
	GVK  schema.GroupVersionKind
	Key  inventory.Key
	Kind cluster.Kind
}

// String returns the object as kubectl names it.
func (o Object) String() string { return ResourceName(o.GVK.Group, o.GVK.Kind, o.Key.Name) }

// ownTypes are the names of Pequod's own kinds, which need no discovery of all types.
var ownTypes = map[string]string{
	"resourcegraph": "ResourceGraph", "resourcegraphs": "ResourceGraph", "rg": "ResourceGraph",
	"transform": "Transform", "transforms": "Transform",
	"action": "Action", "actions": "Action",
	"monitor": "Monitor", "monitors": "Monitor",
	"receiver": "Receiver", "receivers": "Receiver",
}

// OwnKind returns the kind of a type that is one of Pequod's own, or "".
func OwnKind(kind string) string {
	return ownTypes[strings.TrimSuffix(strings.ToLower(kind), "."+v1alpha1.Group)]
}

// ParseObject returns the type and the name in the arguments NAME, TYPE/NAME or TYPE NAME.
// Without a type, it is resourcegraph.
func ParseObject(args []string) (kind, name string, err error) {
	kind, name = "resourcegraph", args[0]
	before, after, slash := strings.Cut(args[0], "/")
	switch {
	case slash && len(args) > 1:
		return "", "", fmt.Errorf("%q: want TYPE/NAME or TYPE NAME, not both", args[0])
	case slash:
		kind, name = before, after
	case len(args) > 1:
		kind, name = args[0], args[1]
	}
	switch {
	case kind == "":
		return "", "", fmt.Errorf("%q: want NAME, TYPE/NAME or TYPE NAME", args[0])
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return "", "", fmt.Errorf("%q is not a valid name", name)
	}
	return kind, name, nil
}

// Find returns the object of a type, which is named as for kubectl, and a name. It doesn't read
// the object.
func (f *ConnectionFlags) Find(ctx context.Context, client *cluster.Client, kind, name, namespace string) (Object, error) {
	gvk := v1alpha1.GroupVersion.WithKind(OwnKind(kind))
	if gvk.Kind == "" {
		var err error
		if gvk, err = f.kindOf(kind); err != nil {
			return Object{}, err
		}
	}
	served, err := client.Kinds().Find(ctx, gvk)
	if err != nil {
		return Object{}, Error(err)
	}
	o := Object{GVK: gvk, Key: inventory.Key{Group: gvk.Group, Kind: gvk.Kind, Name: name}, Kind: served}
	if served.Namespaced {
		o.Key.Namespace = namespace
	}
	return o, nil
}

// kindOf asks the cluster for the kind of a type.
func (f *ConnectionFlags) kindOf(kind string) (schema.GroupVersionKind, error) {
	mapper, err := f.flags.ToRESTMapper()
	if err != nil {
		return schema.GroupVersionKind{}, kubeconfigError(err)
	}
	full, resource := schema.ParseResourceArg(kind)
	if full != nil {
		if gvk, err := mapper.KindFor(*full); err == nil {
			return gvk, nil
		}
	}
	gvk, err := mapper.KindFor(resource.WithVersion(""))
	if meta.IsNoMatchError(err) {
		return gvk, fmt.Errorf("the cluster has no type %q", kind)
	}
	return gvk, Error(err)
}

// IsInstance reports whether an object exists and its kind was generated for a Transform. If the
// definition of the kind can't be read, it may have been.
func IsInstance(ctx context.Context, client *cluster.Client, o Object) (bool, error) {
	live, err := client.Get(ctx, o.Key, o.GVK.Version)
	if err != nil || live == nil {
		return false, Error(err)
	}
	definition, err := client.Get(ctx, inventory.Key{
		Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: o.Kind.Resource.GroupResource().String(),
	}, "v1")
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	return definition != nil && definition.GetLabels()[v1alpha1.LabelTransform] != "", Error(err)
}
