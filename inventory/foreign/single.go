package foreign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/object"
)

// readFlux reads status.inventory.entries of a Kustomization. The ids have the form of
// cli-utils (fluxcd/kustomize-controller, api/v1/inventory_types.go).
func (r *Reader) readFlux(ctx context.Context, record *Record) error {
	obj, err := r.holder(ctx, record.Source, schema.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"})
	if err != nil {
		return err
	}
	entries, _, err := unstructured.NestedSlice(obj.Object, "status", "inventory", "entries")
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, err := object.ParseObjMetadata(text(e, "id"))
		if err != nil {
			return err
		}
		record.Objects = append(record.Objects, id)
	}
	if prune, _, _ := unstructured.NestedBool(obj.Object, "spec", "prune"); !prune {
		record.Keeps = "spec.prune is false"
	}
	if policy, _, _ := unstructured.NestedString(obj.Object, "spec", "deletionPolicy"); policy == "Orphan" && record.Keeps == "" {
		record.Notes = append(record.Notes, "its spec.deletionPolicy is Orphan: deleting it keeps the objects, but a new revision still prunes")
	}
	record.Stop, record.Cleanup = "set spec.prune of the Kustomization to false", "delete the Kustomization"
	return nil
}

// readKpt reads spec.resources of a ResourceGroup (GoogleContainerTools/kpt,
// pkg/live/inventoryrg.go).
func (r *Reader) readKpt(ctx context.Context, record *Record) error {
	obj, err := r.holder(ctx, record.Source, schema.GroupKind{Group: "kpt.dev", Kind: "ResourceGroup"})
	if err != nil {
		return err
	}
	record.Cleanup = "delete the ResourceGroup, without 'kpt live destroy'"
	return record.addFields(obj, "spec", "resources")
}

// readCLIUtils reads a ConfigMap whose keys are ids. (cli-utils' own reader, package
// inventory, imports kubectl's test helpers, which no program may ship.)
func (r *Reader) readCLIUtils(ctx context.Context, record *Record) error {
	obj, err := r.holder(ctx, record.Source, schema.GroupKind{Kind: "ConfigMap"})
	if err != nil {
		return err
	}
	const label = "cli-utils.sigs.k8s.io/inventory-id"
	if obj.GetLabels()[label] == "" {
		return errors.New("is not an inventory: it has no label " + label)
	}
	ids, _, err := unstructured.NestedMap(obj.Object, "data")
	if err != nil {
		return err
	}
	for id := range ids {
		parsed, err := object.ParseObjMetadata(id)
		if err != nil {
			return err
		}
		record.Objects = append(record.Objects, parsed)
	}
	record.Cleanup = "delete the ConfigMap"
	return nil
}

// argoFinalizer makes the deletion of an Application delete its objects.
const argoFinalizer = "resources-finalizer.argocd.argoproj.io"

// readArgo reads status.resources of an Application. Argo CD lists objects there that
// it wants as well as those that it finds, so it checks on each live object that the
// Application owns it (see ownedByArgo).
func (r *Reader) readArgo(ctx context.Context, record *Record) error {
	obj, err := r.holder(ctx, record.Source, schema.GroupKind{Group: "argoproj.io", Kind: "Application"})
	if err != nil {
		return err
	}
	if err := record.addFields(obj, "status", "resources"); err != nil {
		return err
	}
	var owned object.ObjMetadataSet
	for _, id := range record.Objects {
		live, err := r.Live(ctx, id)
		if err != nil {
			return err
		}
		if live != nil && !ownedByArgo(live, obj) {
			record.Notes = append(record.Notes, fmt.Sprintf("%s is left out: Argo CD tracks it for another Application", Text(id)))
			continue
		}
		owned = append(owned, id)
	}
	record.Objects = owned
	server, _, _ := unstructured.NestedString(obj.Object, "spec", "destination", "server")
	name, _, _ := unstructured.NestedString(obj.Object, "spec", "destination", "name")
	if server != "" && server != "https://kubernetes.default.svc" || name != "" && name != "in-cluster" {
		record.Notes = append(record.Notes, fmt.Sprintf("its destination is another cluster, %s: the objects of this cluster are not the Application's", server+name))
	}
	// An empty object is enough to enable automated synchronization.
	_, automated, _ := unstructured.NestedMap(obj.Object, "spec", "syncPolicy", "automated")
	prune, _, _ := unstructured.NestedBool(obj.Object, "spec", "syncPolicy", "automated", "prune")
	cascades := slices.ContainsFunc(obj.GetFinalizers(), func(f string) bool { return strings.HasPrefix(f, argoFinalizer) })
	if !prune && !cascades {
		record.Keeps = "it neither prunes automatically nor has the finalizer " + argoFinalizer
		if automated {
			record.Notes = append(record.Notes, "it synchronizes automatically: remove spec.syncPolicy.automated, or Argo CD and the graph overwrite each other")
		}
	}
	record.Stop = "remove spec.syncPolicy.automated and the finalizer " + argoFinalizer + " from the Application"
	record.Cleanup = "delete the Application with --cascade=false"
	return nil
}

// ownedByArgo reports whether a live object belongs to an Application: by the tracking
// annotation APP:GROUP/KIND:NAMESPACE/NAME, in which APP has the namespace of an
// Application outside of Argo CD's namespace. An object without it, as with tracking by
// labels, belongs to the Application that lists it.
func ownedByArgo(live, application *unstructured.Unstructured) bool {
	const annotation = "argocd.argoproj.io/tracking-id"
	names := []string{application.GetName(), application.GetNamespace() + "_" + application.GetName()}
	if id, ok := live.GetAnnotations()[annotation]; ok {
		app, _, _ := strings.Cut(id, ":")
		return slices.Contains(names, app)
	}
	return true
}

// addFields adds the objects of a list of maps with group, kind, namespace and name.
func (r *Record) addFields(obj *unstructured.Unstructured, path ...string) error {
	items, _, err := unstructured.NestedSlice(obj.Object, path...)
	if err != nil {
		return err
	}
	for _, item := range items {
		id := object.ObjMetadata{
			GroupKind: schema.GroupKind{Group: text(item, "group"), Kind: text(item, "kind")},
			Namespace: text(item, "namespace"), Name: text(item, "name"),
		}
		if id.GroupKind.Kind == "" || id.Name == "" {
			return errors.New(strings.Join(path, ".") + " has an entry without a kind or a name")
		}
		r.Objects = append(r.Objects, id)
	}
	return nil
}

// text returns a field of a map, "" if it has none.
func text(v any, field string) string {
	m, _ := v.(map[string]any)
	s, _ := m[field].(string)
	return s
}
