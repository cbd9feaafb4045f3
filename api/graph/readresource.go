package graph

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

const (
	// Hints for late references and random values in fields that do not allow
	// them.
	lateHint     = "which object a node is must be known when it is rendered"
	generateHint = "only in stringData of a Secret whose applyPolicy.mode is Create"
)

// rawJSON returns the JSON of a value, or nil if the value is absent or null. A
// graph that was decoded from JSON has Raw, and one that was built in Go may have
// Object.
func rawJSON(r *runtime.RawExtension) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	raw := r.Raw
	if len(raw) == 0 && r.Object != nil {
		var err error
		if raw, err = json.Marshal(r); err != nil {
			return nil, err
		}
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	return raw, nil
}

// mayContainLate reports whether JSON may contain a late reference. It is a cheap
// test that saves decoding most resources: the keys $from and $generate contain a
// dollar sign, literally or as a Unicode escape.
func mayContainLate(raw []byte) bool {
	return bytes.IndexByte(raw, '$') >= 0 || bytes.Contains(raw, []byte(`\u`))
}

// header has the fields that identify an object. Their types are checked after
// decoding, so that each wrong type is reported separately.
type header struct {
	APIVersion any `json:"apiVersion"`
	Kind       any `json:"kind"`
	Metadata   any `json:"metadata"`
}

// readResource decodes the header of the node's resource.
func (n *Node) readResource(raw []byte) {
	if raw[0] != '{' {
		n.problem("resource", "is not a map", "")
		return
	}
	var h header
	if err := json.Unmarshal(raw, &h); err != nil {
		n.problem("resource", "is not JSON: "+err.Error(), "")
		return
	}
	n.readHeader(h)
}

// findReferences finds the late references in the node's resource. A resource
// without a dollar sign is never decoded as a whole, and most have none.
func (n *Node) findReferences() {
	raw, err := rawJSON(n.Resource)
	if err != nil || raw == nil || raw[0] != '{' || !mayContainLate(raw) {
		return // readNode reported the errors
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return // as well
	}
	n.found = reference.Find(object)
	n.checkLatePaths(n.found)
}

// readHeader sets the node's Object and checks the metadata.
func (n *Node) readHeader(h header) {
	n.Object.APIVersion = n.requiredString(h.APIVersion, "apiVersion")
	if _, err := schema.ParseGroupVersion(n.Object.APIVersion); err != nil {
		n.problem("resource.apiVersion", err.Error(), "")
	}
	n.Object.Kind = n.requiredString(h.Kind, "kind")
	metadata, ok := h.Metadata.(map[string]any)
	if h.Metadata != nil && !ok {
		n.problem("resource.metadata", "is not a map", "")
		return
	}
	if isLate(h.Metadata) {
		return
	}
	n.Object.Name = n.requiredString(metadata["name"], "metadata", "name")
	if metadata["namespace"] != nil {
		n.Object.Namespace = n.requiredString(metadata["namespace"], "metadata", "namespace")
	}
	n.checkStringMap(metadata, "labels")
	n.checkStringMap(metadata, "annotations")
	n.checkManagedMetadata(metadata)
}

// serverMetadata are the fields of metadata that only the API server sets.
var serverMetadata = []string{"deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// checkManagedMetadata rejects metadata that only the API server sets, and labels,
// annotations and finalizers of Pequod. With a resourceVersion or a UID, an object
// could never be created. A label of inventories would make a ConfigMap an inventory,
// an annotation could forge a claim, and nothing removes a finalizer of Pequod from an
// object that is no graph. A null, as kubectl create --dry-run prints, counts as absent.
func (n *Node) checkManagedMetadata(metadata map[string]any) {
	for _, field := range serverMetadata {
		if metadata[field] != nil {
			n.problem("resource.metadata."+field, "is set by the API server", "leave it out")
		}
	}
	for _, field := range []string{"annotations", "finalizers", "labels"} {
		var names []string
		switch of := metadata[field].(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(of)) {
				if of[name] != nil && (field != "labels" || !MayLabel(n.GroupKind(), name, of[name])) {
					names = append(names, name)
				}
			}
		case []any:
			for _, name := range of {
				if name, ok := name.(string); ok {
					names = append(names, name)
				}
			}
		}
		for _, name := range names {
			if strings.HasPrefix(name, v1alpha1.Prefix) {
				n.problem(reference.Path{"resource", "metadata", field, name}.String(), "is set by Pequod or in the cluster", "leave it out")
			}
		}
	}
}

// MayLabel reports whether a resource of a kind may have a label: one that isn't
// Pequod's, one that names the origin of the resource, the labels of ClusterRoles whose
// rights the applier or the manager gets, and, on a CRD, the label that pequod crd generate writes.
func MayLabel(gk schema.GroupKind, name string, value any) bool {
	switch name {
	case v1alpha1.LabelTransform, v1alpha1.LabelInstance, v1alpha1.LabelCueModule:
		return true
	case v1alpha1.LabelAggregate, v1alpha1.LabelAggregateManager:
		return gk == schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}
	case v1alpha1.LabelManaged:
		return value == "true" && isCRD(gk)
	}
	return !strings.HasPrefix(name, v1alpha1.Prefix)
}

// requiredString returns v as a string, and reports a problem if it is missing or
// has another type. keys are the path of v in the resource.
func (n *Node) requiredString(v any, keys ...string) string {
	path := reference.Path{"resource"}
	for _, key := range keys {
		path = append(path, key)
	}
	s, ok := v.(string)
	switch {
	case isLate(v): // checkLatePaths reports it
	case v == nil || ok && s == "":
		n.problem("resource", "has no "+path[1:].String(), "")
	case !ok:
		n.problem(path.String(), "is not a string", "")
	}
	return s
}

// checkStringMap checks that the values of a map in metadata are strings. Unquoted
// values such as true and 8, which YAML decodes to other types, are a common
// mistake in labels.
func (n *Node) checkStringMap(metadata map[string]any, field string) {
	v := metadata[field]
	if v == nil || isLate(v) {
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		n.problem("resource.metadata."+field, "is not a map", "")
		return
	}
	var wrong []string
	for key, value := range m {
		if _, ok := value.(string); !ok && !isLate(value) {
			wrong = append(wrong, key)
		}
	}
	slices.Sort(wrong)
	for _, key := range wrong {
		n.problem(reference.Path{"resource", "metadata", field, key}.String(), "is not a string", "quote it")
	}
}

// checkLatePaths rejects late references in fields where they are not allowed.
// $from is not allowed in the fields that identify the object, and $generate only in
// stringData of Secrets that are created once: applying it again would generate
// another value.
func (n *Node) checkLatePaths(found reference.Found) {
	for _, from := range found.From {
		if p := from.Path; len(p) == 0 || p.Is("apiVersion") || p.Is("kind") ||
			p.Is("metadata") || p.Is("metadata", "name") || p.Is("metadata", "namespace") {
			n.problem(append(reference.Path{"resource"}, p...).String(), "a late reference is not allowed here", lateHint)
		}
	}
	for _, generate := range found.Generate {
		p := generate.Path
		if !isSecret(n.GroupKind()) || len(p) != 2 || p[0] != "stringData" ||
			n.ApplyPolicy == nil || n.ApplyPolicy.Mode != v1alpha1.ApplyModeCreate {
			n.problem(append(reference.Path{"resource"}, p...).String(), "$generate is not allowed here", generateHint)
		}
	}
}

// checkExternalRef checks that the reference is complete, and that the graph does
// not read itself: every write of its status would be news for it.
func (g *Graph) checkExternalRef(n *Node) {
	ref := n.ExternalRef
	for _, field := range []struct{ name, value string }{
		{"apiVersion", ref.APIVersion}, {"kind", ref.Kind}, {"name", ref.Name},
	} {
		if field.value == "" {
			n.problem("externalRef", "has no "+field.name, "")
		}
	}
	if _, err := schema.ParseGroupVersion(ref.APIVersion); err != nil {
		n.problem("externalRef.apiVersion", err.Error(), "")
	}
	if n.GroupKind() == v1alpha1.GroupVersion.WithKind("ResourceGraph").GroupKind() && ref.Name == g.source.Name && ref.Name != "" &&
		(ref.Namespace == "" || ref.Namespace == g.source.Namespace) {
		n.problem("externalRef", "is the graph itself", "read what another graph or object has")
	}
}

// problem records a problem of the node.
func (n *Node) problem(path, message, hint string) {
	n.problems = append(n.problems, NewProblem(n.ID, path, message, hint))
}

// isLate reports whether v is a map with one of the keys of late references. The
// map may be malformed; [reference.Find] reports that.
func isLate(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	_, from := m[reference.FromKey]
	_, generate := m[reference.GenerateKey]
	return from || generate
}
