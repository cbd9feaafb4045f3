package yamlfile

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/problem"
)

// Documents reads the documents of a file one by one and skips empty ones. It
// only parses them; [Document.Check] reports values that parsers read
// differently.
//
// A document that can't be parsed is yielded with its problems and ends the
// sequence, since everything after it may be misread.
func Documents(name string, data []byte) iter.Seq2[Document, problem.List] {
	return func(yield func(Document, problem.List) bool) {
		f := newFile(name, data)
		for n, ps := range f.documents() {
			if !yield(Document{f, n}, ps) {
				return
			}
		}
	}
}

// Objects is like [Documents], and yields the items of a v1 List one by one
// instead of the List. `kubectl get -o yaml` writes such Lists.
func Objects(name string, data []byte) iter.Seq2[Document, problem.List] {
	f := newFile(name, data)
	return items(f, f.documents())
}

// items yields documents, and the items of a List instead of the List.
func items(f *file, documents iter.Seq2[*yaml.Node, problem.List]) iter.Seq2[Document, problem.List] {
	return func(yield func(Document, problem.List) bool) {
		for doc, ps := range documents {
			if ps != nil {
				yield(Document{f, doc}, ps)
				return
			}
			for _, item := range listItems(doc) {
				if !yield(Document{f, item}, nil) {
					return
				}
			}
		}
	}
}

// Parse returns all documents of a file, each checked by [Document.Check]. Its
// error is a [problem.List] of the first document that has problems.
func Parse(name string, data []byte) ([]Document, error) {
	var docs []Document
	for doc, ps := range Documents(name, data) {
		if ps == nil {
			ps = doc.Check()
		}
		if len(ps) > 0 {
			return nil, ps
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// documents yields the root node of each document.
func (f *file) documents() iter.Seq2[*yaml.Node, problem.List] {
	return func(yield func(*yaml.Node, problem.List) bool) {
		for part, ps := range f.parts(0) {
			if ps != nil {
				yield(nil, ps)
				return
			}
			for doc, ps := range part.documents() {
				if !yield(doc, ps) || ps != nil {
					return
				}
			}
		}
	}
}

// document parses a part of the file between two separators. The part begins at
// the given line. document returns nil if the part has no content, only comments
// or null. A part with two documents has one that begins behind ... , which
// kubectl would drop.
func (f *file) document(data []byte, line int) (*yaml.Node, problem.List) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("%")) {
		return nil, f.problem(f.pos(line, 1), "leave it out", "YAML directives are not supported")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, f.syntaxError(data, line, err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, f.problem(f.pos(second.Line+line-1, second.Column), "separate documents with ---", "a second document")
	case !errors.Is(err, io.EOF):
		return nil, f.syntaxError(data, line, err)
	}
	// An explicit null is a document only if it has the tag "!", which
	// refuseTag reports.
	if len(doc.Content) == 0 || isNull(doc.Content[0]) && len(f.bareTags) == 0 {
		return nil, nil
	}
	addLines(doc.Content[0], line-1)
	return doc.Content[0], nil
}

// isNull reports whether a node is null, written out or left empty.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// addLines moves a node and all below it down, because the YAML library counts
// lines from the start of the document and not of the file.
func addLines(n *yaml.Node, lines int) {
	if lines == 0 {
		return
	}
	n.Line += lines
	for _, c := range n.Content {
		addLines(c, lines)
	}
}

// listItems returns the items of a v1 List, or the node itself if it is none.
func listItems(n *yaml.Node) []*yaml.Node {
	d := Document{node: n}
	if d.Text("apiVersion") != "v1" || d.Text("kind") != "List" {
		return []*yaml.Node{n}
	}
	items := lookup(n, "items", map[*yaml.Node]bool{})
	if items == nil || items.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	return items.Content
}
