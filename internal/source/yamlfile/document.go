package yamlfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Document is one document of a file, or one item of a List in it.
type Document struct {
	file *file
	node *yaml.Node
}

// Check reports every value of the document that YAML parsers read differently.
func (d Document) Check() problem.List {
	_, ps := d.Syntax()
	return ps
}

// Syntax converts the document to CUE syntax that keeps the positions, with
// keys sorted and numbers normalized as the API server does. It reports the
// same problems as [Document.Check], and keys below the top level that are
// among reserved. The syntax is nil if a value had to be left out. With problems
// otherwise, it has stand-ins for some values, and is only good for finding more
// problems.
func (d Document) Syntax(reserved ...string) (ast.Expr, problem.List) {
	c := &converter{file: d.file, reserved: reserved}
	e := c.value(d.node, "", 0)
	if len(c.problems) > c.standIns {
		return nil, c.problems
	}
	return e, c.problems
}

// Start returns the position at which the document begins.
func (d Document) Start() problem.Position { return cuesyntax.Position(d.file.nodePos(d.node)) }

// Name returns the name of the document's file.
func (d Document) Name() string { return d.file.name }

// Decode reads the document into a Go value by its JSON tags. A field that the Go
// type does not have is an error. Its errors are [problem.List]. The detour over
// JSON makes YAML follow the JSON tags.
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

// PosOf returns the position of the value at a path of keys and indexes. If the
// document does not have the whole path, it returns the position of the last
// value on the way.
func (d Document) PosOf(path []string) problem.Position {
	return cuesyntax.Position(d.file.nodePos(find(d.node, path)))
}

// At is like [Document.PosOf] for a path as [problem.Problem] has it.
func (d Document) At(path string) problem.Position { return d.PosOf(fieldpath.Split(path)) }

// KeyAt returns the position of the last key of a path. If the document does not
// have the whole path, it is like [Document.At]. A mapping below its key begins on
// another line than the key.
func (d Document) KeyAt(path string) problem.Position {
	elements := fieldpath.Split(path)
	if n := len(elements); n > 0 {
		parent := find(d.node, elements[:n-1])
		for i := 0; parent.Kind == yaml.MappingNode && i+1 < len(parent.Content); i += 2 {
			if parent.Content[i].Value == elements[n-1] {
				return cuesyntax.Position(d.file.nodePos(parent.Content[i]))
			}
		}
	}
	return d.PosOf(elements)
}

// Text returns the scalar at a top-level key as it is written, or "". It follows aliases and
// the merge key.
func (d Document) Text(key string) string {
	if n := lookup(d.node, key, map[*yaml.Node]bool{}); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

// unknownField matches the error of encoding/json for a field that the Go type
// does not have. It has no error type of its own.
var unknownField = lazyregexp.New(`^json: unknown field "(.*)"$`)

// Problem returns an error about the document as a [problem.List] of one
// element. An error of encoding/json gets the position of the field that it
// names; any other gets the start of the document.
func (d Document) Problem(err error) error {
	p := problem.Problem{Position: d.Start(), Rule: problem.RuleInstance, Message: err.Error()}
	var t *json.UnmarshalTypeError
	switch {
	case errors.As(err, &t):
		p.Path = t.Field
		p.Message = "must be " + wordsForGoType(t.Type.String()) + ", not " + t.Value
		if n := find(d.node, strings.Split(t.Field, ".")); n != nil {
			p.Position = cuesyntax.Position(d.file.nodePos(n))
		}
	default:
		if m := unknownField().FindStringSubmatch(err.Error()); m != nil {
			p.Path, p.Message, p.Rule = m[1], "unknown field", problem.RuleUnknown
			if k := findKey(d.node, m[1]); k != nil {
				p.Position = cuesyntax.Position(d.file.nodePos(k))
			}
		}
	}
	return problem.List{p}
}

// wordsForGoType names a Go type in the terms of YAML.
func wordsForGoType(t string) string {
	switch {
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case strings.HasPrefix(t, "int"):
		return "an integer"
	case t == "bool":
		return "true or false"
	case strings.HasPrefix(t, "map") || strings.Contains(t, "."):
		// Of the API types, only these are structs; the others are strings.
		if strings.HasSuffix(t, "Spec") || strings.HasSuffix(t, "Ref") || strings.HasPrefix(t, "map") {
			return "a mapping"
		}
	}
	return "a string"
}

// find follows a path of keys and indexes and returns the last node that the
// document has on it. It does not follow aliases.
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

// findKey returns the first key with a name, depth first. encoding/json does
// not report where it found an unknown field.
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
