package yamlfile

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Difference is a field that differs between two documents. A mapping or list that only one
// of them has is one difference.
type Difference struct {
	// Path is the path of the field as [problem.Problem] has it.
	Path string
	// Was and Is are the positions of the field's key, or of a list item, in the documents.
	// One is zero if its document lacks the field.
	Was, Is problem.Position
}

// Compare returns the fields in which two documents differ, in the order of the second one.
// Fields that only the first one has follow those of their mapping. The way in which a value is
// written doesn't matter. Both documents must be valid, see [Document.Check].
func Compare(was, is Document) []Difference {
	c := comparison{was: was.file, is: is.file}
	c.compare(element{value: was.node}, element{value: is.node}, "")
	return c.found
}

// comparison collects the differences between two files.
type comparison struct {
	was, is *file
	found   []Difference
}

// element is a field of a mapping or an item of a list. An item has no key. An element
// without a value is missing.
type element struct{ key, value *yaml.Node }

// position returns the position at which a reader finds the element.
func (e element) position(f *file) problem.Position {
	switch {
	case e.key != nil:
		return cuesyntax.Position(f.nodePos(e.key))
	case e.value != nil:
		return cuesyntax.Position(f.nodePos(e.value))
	}
	return problem.Position{}
}

// compare adds the differences between two elements.
func (c *comparison) compare(was, is element, path string) {
	a, b := target(was.value), target(is.value)
	switch {
	case a != nil && b != nil && a.Kind == yaml.MappingNode && b.Kind == yaml.MappingNode:
		c.mappings(a, b, path)
	case a != nil && b != nil && a.Kind == yaml.SequenceNode && b.Kind == yaml.SequenceNode:
		c.lists(a.Content, b.Content, path)
	case a == nil || b == nil || a.Kind != b.Kind || a.Value != b.Value || a.ShortTag() != b.ShortTag():
		c.found = append(c.found, Difference{path, was.position(c.was), is.position(c.is)})
	}
}

// mappings compares two mappings by their keys.
func (c *comparison) mappings(a, b *yaml.Node, path string) {
	was, is := fieldsOf(a), fieldsOf(b)
	old := make(map[string]element, len(was))
	for _, e := range was {
		old[e.key.Value] = e
	}
	for _, e := range is {
		name := e.key.Value
		c.compare(old[name], e, fieldpath.Join(path, name))
		delete(old, name)
	}
	for _, e := range was {
		if name := e.key.Value; old[name].key != nil {
			c.compare(e, element{}, fieldpath.Join(path, name))
		}
	}
}

// lists compares two lists. Equal items at both ends are left out first, so that an item that
// is inserted doesn't make the ones behind it differ.
func (c *comparison) lists(a, b []*yaml.Node, path string) {
	start := 0
	for start < min(len(a), len(b)) && c.equal(a[start], b[start]) {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && c.equal(a[endA-1], b[endB-1]) {
		endA, endB = endA-1, endB-1
	}
	for i := start; i < max(endA, endB); i++ {
		var was, is element
		if i < endA {
			was.value = a[i]
		}
		if i < endB {
			is.value = b[i]
		}
		c.compare(was, is, path+fieldpath.Index(i))
	}
}

// equal reports whether two items have no differences.
func (c *comparison) equal(a, b *yaml.Node) bool {
	items := comparison{was: c.was, is: c.is}
	items.compare(element{value: a}, element{value: b}, "")
	return len(items.found) == 0
}

// fieldsOf returns the fields of a mapping and then those of its merge key that it doesn't
// have itself.
func fieldsOf(n *yaml.Node) []element {
	var own, merged []element
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isMergeKey(key) {
			own = append(own, element{key, value})
			continue
		}
		for _, m := range mergedBy(value) {
			merged = append(merged, fieldsOf(target(m))...)
		}
	}
	for _, e := range merged {
		if !slices.ContainsFunc(own, func(o element) bool { return o.key.Value == e.key.Value }) {
			own = append(own, e)
		}
	}
	return own
}
