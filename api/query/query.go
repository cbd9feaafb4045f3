// Package query checks GraphQL queries without the schema of the server: whether a document is
// one query, and which fields it selects.
//
// [Parse] is the entry point. Non-goals: it knows no types, and sends nothing.
package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// maxTokens bounds the time that a hostile document takes.
const maxTokens = 10000

// Query is a document with one query.
type Query struct {
	operation *ast.OperationDefinition
	fragments ast.FragmentDefinitionList
}

// Parse parses a document. Mutations and subscriptions are refused: a probe must not change what
// it reads.
func Parse(text string) (*Query, error) {
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if err != nil {
		var known *gqlerror.Error
		if errors.As(err, &known) && len(known.Locations) > 0 {
			return nil, fmt.Errorf("line %d, column %d: %s", known.Locations[0].Line, known.Locations[0].Column, known.Message)
		}
		return nil, err
	}
	if len(doc.Operations) != 1 {
		return nil, fmt.Errorf("has %d operations, must have one query", len(doc.Operations))
	}
	if o := doc.Operations[0]; o.Operation != ast.Query {
		return nil, fmt.Errorf("a %s is refused, because a probe must not change what it reads", o.Operation)
	}
	return &Query{doc.Operations[0], doc.Fragments}, nil
}

// Missing returns the first field of a path that the query doesn't select, with those above it,
// or "". The keys of the path are names of fields, and indexes of lists. Below a field
// without a selection everything is taken for selected, because the field may be of any type.
func (q *Query) Missing(path []any) string {
	sets := []ast.SelectionSet{q.operation.SelectionSet}
	var above []string
	for _, key := range path {
		name, ok := key.(string)
		if !ok {
			continue // an element has the fields of its list
		}
		above = append(above, name)
		var below []ast.SelectionSet
		found, leaf := false, false
		for _, field := range q.fields(sets, map[string]bool{}) {
			if field.Alias != name {
				continue
			}
			found, leaf = true, leaf || len(field.SelectionSet) == 0
			below = append(below, field.SelectionSet)
		}
		switch {
		case !found:
			return strings.Join(above, ".")
		case leaf:
			return ""
		}
		sets = below
	}
	return ""
}

// fields returns the fields of selections, with those of fragments. The fragments that were
// entered are in seen, since a document may have cycles of them.
func (q *Query) fields(sets []ast.SelectionSet, seen map[string]bool) []*ast.Field {
	var all []*ast.Field
	for _, set := range sets {
		for _, selection := range set {
			switch s := selection.(type) {
			case *ast.Field:
				all = append(all, s)
			case *ast.InlineFragment:
				all = append(all, q.fields([]ast.SelectionSet{s.SelectionSet}, seen)...)
			case *ast.FragmentSpread:
				if f := q.fragments.ForName(s.Name); f != nil && !seen[s.Name] {
					seen[s.Name] = true
					all = append(all, q.fields([]ast.SelectionSet{f.SelectionSet}, seen)...)
				}
			}
		}
	}
	return all
}
