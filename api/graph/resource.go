package graph

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

const (
	lateHint     = "which object a node is must be known when it is rendered"
	generateHint = "only in stringData of a Secret whose applyPolicy.mode is Create"
)

// rawJSON returns the JSON of a value, or nil where there is none.
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

// mayHoldLate is a cheap look that spares most resources a full decoding: a
// late reference has a key with a dollar, written out or escaped.
func mayHoldLate(raw []byte) bool {
	return bytes.IndexByte(raw, '$') >= 0 || bytes.Contains(raw, []byte(`\u`))
}

// head is what every object says about itself. The types are checked
// afterwards, so that each wrong one is a problem of its own.
type head struct {
	APIVersion any `json:"apiVersion"`
	Kind       any `json:"kind"`
	Metadata   any `json:"metadata"`
}

func (n *Node) readResource(raw []byte, scope *reference.Scope) {
	if raw[0] != '{' {
		n.problem("resource", "is not a map", "")
		return
	}
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		n.problem("resource", "is not JSON: "+err.Error(), "")
		return
	}
	n.checkHead(h)
	if !mayHoldLate(raw) {
		return
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		n.problem("resource", "is not JSON: "+err.Error(), "")
		return
	}
	found := reference.Find(object)
	n.checkPlaces(found)
	references, problems := compile(found, reference.Path{"resource"}, scope)
	for _, p := range problems {
		n.problem(p.Field, p.Message, p.Hint)
	}
	n.References, n.Generates = references, found.Generate
}

func (n *Node) checkHead(h head) {
	n.Object.APIVersion = n.text(h.APIVersion, "apiVersion")
	if _, err := schema.ParseGroupVersion(n.Object.APIVersion); err != nil {
		n.problem("resource.apiVersion", err.Error(), "")
	}
	n.Object.Kind = n.text(h.Kind, "kind")
	metadata, ok := h.Metadata.(map[string]any)
	if h.Metadata != nil && !ok {
		n.problem("resource.metadata", "is not a map", "")
		return
	}
	if isLate(h.Metadata) {
		return
	}
	n.Object.Name = n.text(metadata["name"], "metadata", "name")
	if metadata["namespace"] != nil {
		n.Object.Namespace = n.text(metadata["namespace"], "metadata", "namespace")
	}
	n.checkTexts(metadata, "labels")
	n.checkTexts(metadata, "annotations")
}

// text returns a string that must be there.
func (n *Node) text(v any, keys ...string) string {
	path := reference.Path{"resource"}
	for _, key := range keys {
		path = append(path, key)
	}
	s, ok := v.(string)
	switch {
	case isLate(v): // checkPlaces tells
	case v == nil || ok && s == "":
		n.problem("resource", "has no "+path[1:].String(), "")
	case !ok:
		n.problem(path.String(), "is not a string", "")
	}
	return s
}

// checkTexts checks a map of metadata whose values must be strings: true and 8
// in labels are the mistake that YAML invites.
func (n *Node) checkTexts(metadata map[string]any, field string) {
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

// checkPlaces refuses late references where none may stand.
func (n *Node) checkPlaces(found reference.Found) {
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

func (n *Node) checkExternalRef() {
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
}

func (n *Node) problem(path, message, hint string) {
	n.problems = append(n.problems, NewProblem(n.ID, path, message, hint))
}

func isLate(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	_, from := m[reference.FromKey]
	_, generate := m[reference.GenerateKey]
	return from || generate
}
