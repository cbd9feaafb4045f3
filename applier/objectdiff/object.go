package objectdiff

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Key identifies an object. It has no version, because the API server serves one
// object in several versions. Group is empty for the core group. Namespace is
// empty for cluster-scoped objects, and for objects whose manifest sets none. Cluster is
// empty for the cluster of the graph, see [graph.Cluster].
type Key struct {
	Group, Kind, Namespace, Name string
	Cluster                      string
}

// Object is an object as one side of a comparison has it. [FromManifest],
// [FromGraph] and [CompareLive] make Objects. None of them is changed afterwards,
// so several diffs may share one.
type Object struct {
	Key
	// File is the file that the object was read from. It may be empty.
	File string

	body   map[string]any // see normalize; contains masked secrets
	graph  string         // "namespace/name" of the graph that owns the object, or ""
	node   map[string]any // settings of the node; nil without a graph
	source Key            // the instance that the graph was rendered from; zero without one
	// foreignReplicas is set if spec.replicas is that of another manager.
	foreignReplicas bool
	policy          policy
}

// policy has the policies of a node that matter for warnings.
type policy struct {
	orphaned bool // the object stays in the cluster when it leaves the graph
	// kept is the annotation or label that keeps the object in the cluster, or "".
	kept      string
	recreated bool // the object is recreated if an immutable field changes
}

// Compare orders keys by namespace, kind, group and name.
func (k Key) Compare(l Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, l.Namespace), cmp.Compare(k.Kind, l.Kind),
		cmp.Compare(k.Group, l.Group), cmp.Compare(k.Name, l.Name), cmp.Compare(k.Cluster, l.Cluster))
}

// kind returns the kind, followed by its group unless it is built into Kubernetes or
// Pequod.
func (k Key) kind() string {
	_, known := graph.ClusterScoped(schema.GroupKind{Group: k.Group, Kind: k.Kind})
	if known || k.Group == "" || k.Group == v1alpha1.GroupVersion.Group {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// name returns the name, preceded by the namespace if there is one, and followed by the
// cluster if it isn't that of the graph.
func (k Key) name() string {
	name := k.Name
	if k.Namespace != "" {
		name = k.Namespace + "/" + name
	}
	if k.Cluster != "" {
		name += " (" + k.Cluster + ")"
	}
	return name
}

// String returns the name of the object in messages: Deployment default/web.
func (k Key) String() string { return k.kind() + " " + k.name() }

// is reports whether the object is of this group and one of these kinds.
func (k Key) is(group string, kinds ...string) bool {
	return k.Group == group && slices.Contains(kinds, k.Kind)
}

// FromManifest returns the object of a manifest, or the objects of a List. The
// manifest must have the types that k8s.io/apimachinery/pkg/util/json decodes,
// with whole numbers as int64. It is not changed. Objects of kinds that are known
// to be cluster-scoped have no namespace, even if the manifest sets one.
//
// An error names the missing or malformed field. For a List it begins with the
// index of the item.
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
	return []Object{{Key: key, File: file, body: normalize(key, manifest, false)}}, nil
}

// isList reports whether a manifest with items is a List: other kinds may have a field
// items too, but they have a name.
func isList(m map[string]any) bool {
	kind, _ := m["kind"].(string)
	metadata, _ := m["metadata"].(map[string]any)
	return strings.HasSuffix(kind, "List") && metadata["name"] == nil
}

// typed returns an item of a typed list, such as a SecretList, with its kind and
// apiVersion, which the API server omits in such items.
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

// keyOf returns the key of a manifest, or an error if the manifest is not an object
// with a name.
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
	// The scope of kinds from CRDs is unknown; a namespace in the manifest counts.
	if cluster, known := graph.ClusterScoped(schema.GroupKind{Group: key.Group, Kind: kind}); !known || !cluster {
		key.Namespace, _ = metadata["namespace"].(string)
	}
	return key, nil
}
