package input

import (
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render/kinds"
)

// checkNode gives the function that checks every rendered node.
func SchemaCheck(c *kinds.Catalog) func(v1alpha1.Node, map[string]any) problem.List {
	return func(n v1alpha1.Node, object map[string]any) problem.List {
		var ps problem.List
		add := func(base string, found []kinds.Problem) {
			for _, p := range found {
				ps = append(ps, schemaProblem(base, p))
			}
		}
		s := kinds.Subject{}
		if n.ExternalRef != nil {
			s.APIVersion, s.Kind = n.ExternalRef.APIVersion, n.ExternalRef.Kind
			if _, p := c.Lookup(s.APIVersion, s.Kind); p != nil {
				add("externalRef", []kinds.Problem{*p})
			}
		} else {
			s = subjectOf(object)
			add("resource", c.Check(object))
		}
		add("", c.Ready(s, n.ReadyWhen))
		return ps
	}
}

// subjectOf gives what a node's readiness is about.
func subjectOf(object map[string]any) kinds.Subject {
	var s kinds.Subject
	s.APIVersion, _ = object["apiVersion"].(string)
	s.Kind, _ = object["kind"].(string)
	spec, _ := object["spec"].(map[string]any)
	typ, given := spec["type"]
	if s.ServiceType, _ = typ.(string); !given {
		s.ServiceType = "ClusterIP"
	}
	return s
}

// schemaProblem is a problem of an object below a place in its node.
func schemaProblem(base string, p kinds.Problem) problem.Problem {
	q := problem.Problem{
		Path: base, Message: p.Message, Hint: p.Hint, Rule: problem.RuleSchema,
		Severity: map[kinds.Level]problem.Severity{
			kinds.Error: problem.Error, kinds.Warning: problem.Warning, kinds.Note: problem.Note,
		}[p.Level],
	}
	switch path := p.Path.String(); {
	case path == "":
	case base == "" || path[0] == '[':
		q.Path += path
	default:
		q.Path += "." + path
	}
	return q
}

// notesOnce keeps the first of the notes that say the same, such as that a kind
// isn't known, of nodes and instances that have it.
func UniqueNotes(ps problem.List) problem.List {
	said := map[string]bool{}
	return slices.DeleteFunc(ps, func(p problem.Problem) bool {
		if p.Rule != problem.RuleSchema || p.Severity != problem.Note {
			return false
		}
		again := said[p.Message]
		said[p.Message] = true
		return again
	})
}
