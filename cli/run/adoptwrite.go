package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/atomicfile"
	"github.com/pequod-io/pequod/internal/source/yamlout"
	"github.com/pequod-io/pequod/inventory"
)

// addToFile adds references to spec.adopt of a graph in a file. It changes no other
// byte of the file: comments and formatting stay. It returns the number of references
// that were added; those that are listed already are left out.
func addToFile(path string, owner inventory.Owner, defaultNamespace string, list adoptList) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	changed, added, err := addReferences(data, owner, defaultNamespace, list)
	if err != nil || added == 0 {
		return 0, err
	}
	return added, atomicfile.Write(path, changed)
}

// addReferences is addToFile for the contents of a file.
func addReferences(data []byte, owner inventory.Owner, defaultNamespace string, list adoptList) ([]byte, int, error) {
	documents, err := parseDocuments(data)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(documents, func(doc *yaml.Node) bool { return isGraph(doc, owner, defaultNamespace) })
	if i < 0 {
		return nil, 0, errors.New("is not the file of a ResourceGraph; instances have no spec.adopt, so render the instance and adopt for its graph, or set applyPolicy.mode: Adopt in its module")
	}
	e := &adoptEdit{lines: strings.SplitAfter(string(data), "\n"), end: "\n"}
	if strings.Contains(e.lines[0], "\r\n") {
		e.end = "\r\n"
	}
	if err := e.edit(documents[i], list); err != nil {
		return nil, 0, err
	}
	changed := []byte(strings.Join(e.lines, ""))
	// Nothing but spec.adopt of this document may have changed.
	after, err := parseDocuments(changed)
	if err != nil || len(after) != len(documents) {
		return nil, 0, errUneditable
	}
	for j := range documents {
		if !reflect.DeepEqual(withoutAdopt(documents[j], j == i), withoutAdopt(after[j], j == i)) {
			return nil, 0, errUneditable
		}
	}
	if have := listedReferences(field(field(after[i], "spec"), "adopt")); slices.ContainsFunc(list.Adopt.Resources, func(ref adoptRef) bool { return !slices.Contains(have, ref) }) {
		return nil, 0, errUneditable
	}
	return changed, e.added, nil
}

// errUneditable is returned for YAML whose form the edit doesn't support.
var errUneditable = errors.New("its YAML has a form that can't be edited; add the list by hand")

// adoptEdit is the edit of the lines of a file. Line numbers begin at 1.
type adoptEdit struct {
	lines []string // with their ends
	end   string   // the end of new lines
	added int
}

// edit inserts the references of list into the lines of a document.
func (e *adoptEdit) edit(doc *yaml.Node, list adoptList) error {
	specKey, spec := entry(doc, "spec")
	if specKey == nil || !isBlock(spec, yaml.MappingNode) {
		return errUneditable
	}
	indent := spec.Content[0].Column - 1
	adoptKey, adopt := entry(spec, "adopt")
	if adoptKey == nil {
		e.added = len(list.Adopt.Resources)
		lines := []string{"adopt:", "  mode: " + string(list.Adopt.Mode), "  strategy: " + list.Adopt.Strategy, "  resources:"}
		e.insert(specKey.Line, indent, append(lines, items(list.Adopt.Resources, "  ")...))
		return nil
	}
	if mode := scalar(adopt, "mode"); mode != "" && mode != string(v1alpha1.AdoptExplicit) {
		return fmt.Errorf("its spec.adopt.mode is %s, which has no list", mode)
	}
	have := listedReferences(adopt)
	missing := slices.DeleteFunc(slices.Clone(list.Adopt.Resources), func(ref adoptRef) bool { return slices.Contains(have, ref) })
	if len(missing) == 0 {
		return nil
	}
	e.added = len(missing)
	_, resources := entry(adopt, "resources")
	switch {
	case resources != nil && isBlock(resources, yaml.SequenceNode):
		e.insert(lastLine(resources), resources.Column-1, items(missing, ""))
	case resources == nil && isBlock(adopt, yaml.MappingNode):
		e.insert(adoptKey.Line, adopt.Content[0].Column-1, append([]string{"resources:"}, items(missing, "")...))
	default:
		return errUneditable
	}
	return nil
}

// insert adds lines after a line.
func (e *adoptEdit) insert(after, indent int, lines []string) {
	if last := e.lines[after-1]; !strings.HasSuffix(last, "\n") {
		e.lines[after-1] = last + e.end
	}
	added := make([]string, len(lines))
	for i, line := range lines {
		added[i] = strings.Repeat(" ", indent) + line + e.end
	}
	e.lines = slices.Insert(e.lines, after, added...)
}

// items returns the lines of a list of references.
func items(refs []adoptRef, indent string) []string {
	var lines []string
	for _, ref := range refs {
		var q yamlout.Quoter
		ref.Namespace, ref.Name = q.String(ref.Namespace), q.String(ref.Name)
		data, _ := yaml.Marshal(ref) // strings can always be encoded
		for i, line := range strings.Split(strings.TrimSpace(string(q.Quote(data))), "\n") {
			mark := "  "
			if i == 0 {
				mark = "- "
			}
			lines = append(lines, indent+mark+line)
		}
	}
	return lines
}

// parseDocuments returns the roots of the documents of a file.
func parseDocuments(data []byte) ([]*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var roots []*yaml.Node
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return nil, err
		}
		roots = append(roots, doc.Content[0])
	}
}

// isGraph reports whether a document is the graph of an owner. A graph without a
// namespace is in the default one.
func isGraph(doc *yaml.Node, owner inventory.Owner, defaultNamespace string) bool {
	metadata := field(doc, "metadata")
	namespace := scalar(metadata, "namespace")
	if namespace == "" {
		namespace = defaultNamespace
	}
	return scalar(doc, "kind") == "ResourceGraph" && scalar(doc, "apiVersion") == v1alpha1.GroupVersion.String() &&
		scalar(metadata, "name") == owner.Name && namespace == owner.Namespace
}

// entry returns the key and the value of a mapping's entry, nil if it has none.
func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

func field(n *yaml.Node, name string) *yaml.Node {
	_, value := entry(n, name)
	return value
}

// scalar returns the text of a scalar entry, "" if there is none.
func scalar(n *yaml.Node, name string) string {
	if v := field(n, name); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// isBlock reports whether a node is a collection that isn't empty and isn't written in
// braces or brackets.
func isBlock(n *yaml.Node, kind yaml.Kind) bool {
	return n != nil && n.Kind == kind && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// lastLine returns the last line of a node whose scalars have one line each.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// listedReferences returns the references of spec.adopt.
func listedReferences(adopt *yaml.Node) []adoptRef {
	var refs []adoptRef
	if resources := field(adopt, "resources"); resources != nil {
		for _, item := range resources.Content {
			refs = append(refs, adoptRef{scalar(item, "apiVersion"), scalar(item, "kind"), scalar(item, "namespace"), scalar(item, "name")})
		}
	}
	return refs
}

// withoutAdopt returns the value of a document, without spec.adopt if edited is set.
func withoutAdopt(doc *yaml.Node, edited bool) any {
	var v any
	if doc.Decode(&v) != nil {
		return nil // such as an unknown anchor; the caller compares nil with nil
	}
	if root, ok := v.(map[string]any); ok && edited {
		if spec, ok := root["spec"].(map[string]any); ok {
			delete(spec, "adopt")
		}
	}
	return v
}
