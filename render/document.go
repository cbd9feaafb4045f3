package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"github.com/pequod-io/pequod/internal/problem"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is one YAML document of a file that holds objects of Pequod's own
// kinds.
type Document struct {
	src  *yamlFile
	node *yaml.Node
}

// Documents reads the documents of a YAML or JSON file, held to the same rules
// as instances. Its errors are [Problems].
func Documents(file string, data []byte) ([]Document, error) {
	src := newYAMLFile(file, data)
	var docs []Document
	for n, ps := range src.documents() {
		if ps != nil {
			return nil, ps
		}
		doc := Document{src, n}
		if ps := doc.Check(); len(ps) > 0 {
			return nil, ps
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// Scan reads the documents of a YAML or JSON file one by one; a v1 List stands
// for its items. What stands in a document isn't looked at: [Document.Check] and
// [Document.Instance] do that. A document that isn't YAML ends the sequence,
// since nothing after it can be trusted.
func Scan(file string, data []byte) iter.Seq2[Document, problem.List] {
	return func(yield func(Document, problem.List) bool) {
		src := newYAMLFile(file, data)
		for n, ps := range src.documents() {
			if ps != nil {
				yield(Document{src, n}, ps)
				return
			}
			for _, item := range listItems(n) {
				if !yield(Document{src, item}, nil) {
					return
				}
			}
		}
	}
}

// listItems are the items of a v1 List, or a document that isn't one.
func listItems(n *yaml.Node) []*yaml.Node {
	d := Document{node: n}
	if d.Text("apiVersion") != "v1" || d.Text("kind") != "List" {
		return []*yaml.Node{n}
	}
	items := find(n, []string{"items"})
	if items == n || items.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	return items.Content
}

// Check says what of the document other readers of YAML would read differently.
func (d Document) Check() problem.List {
	c := &converter{src: d.src}
	c.expr(d.node, "", 0)
	return c.problems
}

// Instance reads the document as an instance; it is nil where even the kind is
// unknown.
func (d Document) Instance() (in *Instance, ps problem.List) {
	document(d.src, d.node, func(i *Instance, found problem.List) bool {
		in, ps = i, found
		return false
	})
	return in, ps
}

// Decode reads the document into an API type; fields that the type doesn't have
// are errors. Its errors are [Problems].
func (d Document) Decode(into any) error {
	var v any
	if err := d.node.Decode(&v); err != nil {
		return d.Problem(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return d.Problem(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return d.Problem(err)
	}
	return nil
}

// PosOf is where the value at the end of a path of keys and indexes stands, or
// the last one on the way that is there.
func (d Document) PosOf(path []string) problem.Position { return posOf(d.src.node(find(d.node, path))) }

// At is where the value at a path stands, as a [Problem] writes paths, or the
// last one on the way that is there.
func (d Document) At(path string) problem.Position { return d.PosOf(splitPath(path)) }

// Text gives the string at a key of the document, "" where there is none.
func (d Document) Text(key string) string {
	if n := find(d.node, []string{key}); n != d.node && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

var unknownField = regexp.MustCompile(`^json: unknown field "(.*)"$`)

// Problem places an error about the document: at the key that it names where
// there is one, else where the document begins.
func (d Document) Problem(err error) error {
	p := problem.Problem{Position: posOf(d.src.node(d.node)), Rule: problem.RuleInstance, Message: err.Error()}
	var t *json.UnmarshalTypeError
	switch {
	case errors.As(err, &t):
		p.Path = t.Field
		p.Message = "must be " + goTypeWord(t.Type.String()) + ", not " + t.Value
		if n := find(d.node, strings.Split(t.Field, ".")); n != nil {
			p.Position = posOf(d.src.node(n))
		}
	default:
		if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
			p.Path, p.Message, p.Rule = m[1], "unknown field", problem.RuleUnknown
			if k := findKey(d.node, m[1]); k != nil {
				p.Position = posOf(d.src.node(k))
			}
		}
	}
	return problem.List{p}
}

func goTypeWord(t string) string {
	switch {
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case strings.HasPrefix(t, "int"):
		return "an integer"
	case t == "bool":
		return "true or false"
	case strings.HasPrefix(t, "map") || strings.Contains(t, "."):
		if strings.HasSuffix(t, "Spec") || strings.HasSuffix(t, "Ref") || strings.HasPrefix(t, "map") {
			return "a mapping"
		}
	}
	return "a string"
}

// find follows a path of keys and indexes as far as it leads.
func find(n *yaml.Node, path []string) *yaml.Node {
	for _, name := range path {
		next := n
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == name {
					next = n.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		if next == n {
			return n
		}
		n = next
	}
	return n
}

// findKey finds the first key of that name, depth first.
func findKey(n *yaml.Node, name string) *yaml.Node {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Value == name {
				return c
			}
			continue
		}
		if k := findKey(c, name); k != nil {
			return k
		}
	}
	return nil
}
