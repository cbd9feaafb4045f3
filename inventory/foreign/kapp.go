package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/object"
)

const (
	kappSuffix   = ".apps.k14s.io" // of the ConfigMaps of newer versions
	kappIdentity = "kapp.k14s.io/identity"
)

// kappApp is the JSON in data.spec of an app's ConfigMap (carvel-dev/kapp,
// pkg/kapp/app/meta.go). It has no objects: kapp finds them by their label.
type kappApp struct {
	LabelKey   string `json:"labelKey"`
	LabelValue string `json:"labelValue"`
	UsedGKs    []struct {
		Group string `json:"Group"`
		Kind  string `json:"Kind"`
	} `json:"usedGKs"`
	LastChange struct {
		Namespaces []string `json:"namespaces"`
	} `json:"lastChange"`
}

// readKapp finds the objects of an app: it lists each kind that the app used, by the
// label of the app.
func (r *Reader) readKapp(ctx context.Context, record *Record) error {
	s := record.Source
	app, err := r.kappApp(ctx, s)
	if err != nil {
		return err
	}
	if len(app.UsedGKs) == 0 {
		return errors.New("was written by an old version of kapp, which doesn't record the kinds of its objects; deploy it once with a newer version")
	}
	namespaces := app.LastChange.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{s.Namespace}
	}
	for _, gk := range app.UsedGKs {
		mapping, err := r.Mapper.RESTMapping(schema.GroupKind{Group: gk.Group, Kind: gk.Kind})
		if meta.IsNoMatchError(err) {
			record.Notes = append(record.Notes, fmt.Sprintf("the cluster doesn't serve %s any more", schema.GroupKind{Group: gk.Group, Kind: gk.Kind}))
			continue
		}
		if err != nil {
			return err
		}
		in := namespaces
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			in = []string{""}
		}
		for _, namespace := range in {
			list, err := r.Objects.Resource(mapping.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: app.LabelKey + "=" + app.LabelValue})
			if err != nil {
				return err
			}
			for _, obj := range list.Items {
				if isKappObject(&obj) {
					record.Objects = append(record.Objects, object.ObjMetadata{
						GroupKind: mapping.GroupVersionKind.GroupKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(),
					})
				}
			}
		}
	}
	record.Cleanup = "delete the ConfigMap of the app, without 'kapp delete'"
	return nil
}

// kappApp reads the ConfigMap of an app.
func (r *Reader) kappApp(ctx context.Context, s Source) (*kappApp, error) {
	configMap, err := r.holder(ctx, s, schema.GroupKind{Kind: "ConfigMap"})
	if errors.Is(err, errNotFound) {
		s.Name += kappSuffix
		configMap, err = r.holder(ctx, s, schema.GroupKind{Kind: "ConfigMap"})
	}
	if err != nil {
		return nil, err
	}
	if _, ok := configMap.GetLabels()["kapp.k14s.io/is-app"]; !ok {
		return nil, errors.New("is not an app of kapp: its ConfigMap has no label kapp.k14s.io/is-app")
	}
	data, _, err := unstructured.NestedString(configMap.Object, "data", "spec")
	if err != nil {
		return nil, err
	}
	app := &kappApp{}
	if err := json.Unmarshal([]byte(data), app); err != nil {
		return nil, fmt.Errorf("data.spec: %w", err)
	}
	if app.LabelKey == "" || app.LabelValue == "" {
		return nil, errors.New("data.spec has no labelKey and labelValue")
	}
	return app, nil
}

// isKappObject reports whether an object with the label of an app is one that kapp
// created. Controllers copy the label to the objects that they create; those have an
// owner, or the identity annotation of another object.
func isKappObject(obj *unstructured.Unstructured) bool {
	if metav1.GetControllerOf(obj) != nil {
		return false
	}
	identity, ok := obj.GetAnnotations()[kappIdentity]
	if !ok {
		return true // older than the annotation
	}
	// v1;NAMESPACE/GROUP/KIND/NAME;VERSION
	gvk := obj.GroupVersionKind()
	want := strings.Join([]string{obj.GetNamespace(), gvk.Group, gvk.Kind, obj.GetName()}, "/")
	parts := strings.Split(identity, ";")
	return len(parts) < 2 || parts[1] == want
}
