package churn

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// checkObjects returns an error unless the namespace has exactly the objects of
// the graphs, with the right content. It lists whole kinds, so that it also finds
// objects that should have been pruned. kube-root-ca.crt is in every namespace.
func (u *Churn) checkObjects(ctx context.Context) error {
	want, got := map[string]string{}, map[string]string{}
	for _, s := range u.slots {
		if s.graph != nil {
			maps.Copy(want, s.graph.want(s.name))
		}
	}
	for _, kind := range []string{"ConfigMap", "Deployment"} {
		objects, err := u.c.Resource((&node{kind: kind}).apiVersion(), kind, "")
		if err != nil {
			return err
		}
		list, err := objects.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if obj := &list.Items[i]; obj.GetName() != "kube-root-ca.crt" {
				got[kind+" "+obj.GetName()] = describe(obj)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("objects (-want +got):\n%s", diff)
	}
	return u.checkUIDs(ctx)
}

// describe returns the state of an object in the format of [graph.want]:
//
//	value 17, read 12
//
// Everything that is wrong with the object adds to the text, so that a comparison
// of texts finds it: a value that differs between label and content, another
// graph's label, and a deletion in progress.
func describe(obj *unstructured.Unstructured) string {
	text := "value " + obj.GetLabels()["value"]
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	if obj.GetKind() == "ConfigMap" && data["value"] != obj.GetLabels()["value"] {
		text += " and " + data["value"]
	}
	if read, ok := data["read"]; ok {
		text += ", read " + read
	}
	if containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers"); len(containers) == 1 {
		if image := containers[0].(map[string]any)["image"]; image != "app:"+obj.GetLabels()["value"] {
			text += fmt.Sprint(" and ", image)
		}
	}
	// The name of the graph is before the first hyphen: "g2-n5".
	name, _, _ := strings.Cut(obj.GetName(), "-")
	if by := obj.GetLabels()[v1alpha1.LabelGraph]; by != name {
		text += ", labelled as of graph " + by
	}
	if obj.GetDeletionTimestamp() != nil {
		text += ", being deleted"
	}
	return text
}

// checkUIDs returns an error unless the UIDs in the inventories are those of the
// existing objects. A wrong UID would make the applier treat its own object as
// that of another.
func (u *Churn) checkUIDs(ctx context.Context) error {
	list, err := u.graphs().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		rg, err := decode(&list.Items[i])
		if err != nil || rg.Status.Inventory == nil {
			return err
		}
		for _, e := range rg.Status.Inventory.Entries {
			objects, err := u.c.Resource((&node{kind: e.Kind}).apiVersion(), e.Kind, "")
			if err != nil {
				return err
			}
			obj, err := objects.Get(ctx, e.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if obj.GetUID() != e.UID {
				return fmt.Errorf("graph %s: the UID in the inventory is not that of %s %s", rg.Name, e.Kind, e.Name)
			}
		}
	}
	return nil
}
