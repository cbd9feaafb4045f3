package objectdiff

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Key is what makes two descriptions those of one object. The version isn't
// part of it: one object is served in several.
type Key struct {
	Group, Kind, Namespace, Name string
}

// Object is one object as one side describes it.
type Object struct {
	Key
	// File is where it was read, for messages.
	File string

	body   map[string]any
	graph  string         // "namespace/name" of the graph that holds it
	node   map[string]any // how the graph looks after it; nil without a graph
	policy policy
}

// policy is what a graph does with an object in cases that matter here.
type policy struct {
	orphaned  bool // stays when the graph no longer lists it
	recreated bool // is made anew where a field can't be changed
}

func (k Key) compare(l Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, l.Namespace), cmp.Compare(k.Kind, l.Kind),
		cmp.Compare(k.Group, l.Group), cmp.Compare(k.Name, l.Name))
}

// kind is the kind, with its group where it isn't one of Kubernetes' own.
func (k Key) kind() string {
	_, known := graph.ClusterScoped(schema.GroupKind{Group: k.Group, Kind: k.Kind})
	if known || k.Group == "" || k.Group == v1alpha1.GroupVersion.Group {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

func (k Key) name() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// String gives the object as messages call it: Deployment default/web.
func (k Key) String() string { return k.kind() + " " + k.name() }

// is says whether the key is of this group and one of these kinds.
func (k Key) is(group string, kinds ...string) bool {
	for _, kind := range kinds {
		if k.Group == group && k.Kind == kind {
			return true
		}
	}
	return false
}

// FromManifest makes an object of a manifest, or several of a List. The manifest
// holds what a JSON decoder makes, whole numbers as int64; it is not changed. A
// kind that is known to lie outside of namespaces gets none, whatever the
// manifest says.
func FromManifest(manifest map[string]any, file string) ([]Object, error) {
	if items, ok := manifest["items"].([]any); ok && isList(manifest) {
		var all []Object
		for i, item := range items {
			m, ok := item.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("items[%d]: not an object with apiVersion, kind and metadata", i)
			}
			objects, err := FromManifest(typed(m, manifest), file)
			if err != nil {
				return nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			all = append(all, objects...)
		}
		return all, nil
	}
	key, err := keyOf(manifest)
	if err != nil {
		return nil, err
	}
	return []Object{{Key: key, File: file, body: prepare(key, manifest, false)}}, nil
}

func isList(m map[string]any) bool {
	kind, _ := m["kind"].(string)
	metadata, _ := m["metadata"].(map[string]any)
	return strings.HasSuffix(kind, "List") && metadata["name"] == nil
}

// typed gives an item of a typed list, such as a SecretList, the kind that the
// API server leaves out there.
func typed(item, list map[string]any) map[string]any {
	kind, _ := list["kind"].(string)
	kind = strings.TrimSuffix(kind, "List")
	if kind == "" || item["kind"] != nil {
		return item
	}
	full := map[string]any{"kind": kind, "apiVersion": list["apiVersion"]}
	for k, v := range item {
		if v != nil {
			full[k] = v
		}
	}
	return full
}

func keyOf(m map[string]any) (Key, error) {
	apiVersion, _ := m["apiVersion"].(string)
	kind, _ := m["kind"].(string)
	metadata, _ := m["metadata"].(map[string]any)
	if apiVersion == "" || kind == "" || metadata == nil {
		return Key{}, errors.New("not an object with apiVersion, kind and metadata")
	}
	name, _ := metadata["name"].(string)
	if name == "" {
		return Key{}, errors.New("metadata.name: missing")
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Key{}, fmt.Errorf("apiVersion: %w", err)
	}
	key := Key{Group: gv.Group, Kind: kind, Name: name}
	if cluster, known := graph.ClusterScoped(schema.GroupKind{Group: key.Group, Kind: kind}); !known || !cluster {
		key.Namespace, _ = metadata["namespace"].(string)
	}
	return key, nil
}
