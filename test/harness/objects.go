package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// FieldManager is the field manager of Apply. Conflicts name it.
const FieldManager = "harness"

// patience is how long the API server may take to serve a kind after its
// CustomResourceDefinition was created, on a busy machine.
const patience = 3 * time.Minute

// Apply applies YAML documents in their order by server-side apply and returns
// the stored objects. Objects without a namespace get the test's. After a
// CustomResourceDefinition, Apply waits until the kind is served.
func (c *Cluster) Apply(t testing.TB, manifests string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := decode(manifests)
	if err != nil {
		t.Fatal(err)
	}
	var stored []*unstructured.Unstructured
	for _, object := range objects {
		client := c.Await(t, object.GetAPIVersion(), object.GetKind(), object.GetNamespace())
		result, err := client.Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: FieldManager})
		if err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			Eventually(t, patience, func(ctx context.Context) error { return c.established(ctx, object) })
		}
		stored = append(stored, result)
	}
	return stored
}

// Get returns an object in the test's namespace, or a cluster-scoped one. It
// fails the test if the object does not exist; to wait for one, use [Eventually]
// with [Cluster.Resource].
func (c *Cluster) Get(t testing.TB, apiVersion, kind, name string) *unstructured.Unstructured {
	t.Helper()
	client := c.Await(t, apiVersion, kind, "")
	object, err := client.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("%s %s: %v", kind, name, err)
	}
	return object
}

// SetStatus merges status into the status of an object in the test's namespace,
// or of a cluster-scoped one, as the object's controller would.
func (c *Cluster) SetStatus(t testing.TB, apiVersion, kind, name string, status map[string]any) {
	t.Helper()
	client := c.Await(t, apiVersion, kind, "")
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatalf("%s %s: status: %v", kind, name, err)
	}
}

// Await returns a client like [Cluster.Resource]. If the kind isn't served, it waits:
// another client may have defined the kind a moment ago, and discovery lists it
// later than its CustomResourceDefinition is established.
func (c *Cluster) Await(t testing.TB, apiVersion, kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	var client dynamic.ResourceInterface
	Eventually(t, patience, func(context.Context) (err error) {
		client, err = c.Resource(apiVersion, kind, namespace)
		return err
	})
	return client
}

// Resource returns a client for a kind in a namespace. An empty namespace means
// the test's. For cluster-scoped kinds the namespace is ignored. A kind that isn't
// served is an error; [Cluster.Await] waits for it.
func (c *Cluster) Resource(apiVersion, kind, namespace string) (dynamic.ResourceInterface, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	mapping, err := c.mapper.RESTMapping(version.WithKind(kind).GroupKind(), version.Version)
	if meta.IsNoMatchError(err) {
		// Another client may have defined the kind since.
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(version.WithKind(kind).GroupKind(), version.Version)
	}
	if err != nil {
		return nil, err
	}
	client := c.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client, nil
	}
	if namespace == "" {
		namespace = c.Namespace
	}
	return client.Namespace(namespace), nil
}

// decode splits YAML documents into objects. Empty documents are skipped.
func decode(manifests string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), len(manifests))
	var objects []*unstructured.Unstructured
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// established returns an error until a CRD is established and discovery lists all
// its served versions, which may be a moment later. It resets the REST mapper,
// which may have cached that the kind does not exist.
func (c *Cluster) established(ctx context.Context, definition *unstructured.Unstructured) error {
	client, err := c.Resource(definition.GetAPIVersion(), definition.GetKind(), "")
	if err != nil {
		return err
	}
	stored, err := client.Get(ctx, definition.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(stored.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" && fields["status"] == "True" {
			return c.discovered(stored)
		}
	}
	return fmt.Errorf("%s: not established", definition.GetName())
}

// discovered resets the REST mapper, and returns an error unless discovery lists
// the served versions of a CRD.
func (c *Cluster) discovered(definition *unstructured.Unstructured) error {
	c.mapper.Reset()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return err
	}
	for _, version := range versions {
		fields, ok := version.(map[string]any)
		if !ok || fields["served"] != true {
			continue
		}
		name, _ := fields["name"].(string)
		if _, err := c.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}, name); err != nil {
			return err
		}
	}
	return nil
}
