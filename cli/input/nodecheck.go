package input

import (
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render/kinds"
)

// SchemaCheck returns a function that checks a rendered node against the schema of
// its kind, and its readiness checks against what that kind can report.
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

// subjectOf returns the properties of an object that its readiness depends on. An
// unset Service type is ClusterIP, the default of the API server.
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

// schemaProblem returns a problem of an object with its path in the node. base is
// the path of the object there.
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

// UniqueNotes returns the problems without repeated notes about schemas. A note
// such as that a kind is unknown holds for every node of that kind.
func UniqueNotes(ps problem.List) problem.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(ps, func(p problem.Problem) bool {
		if p.Rule != problem.RuleSchema || p.Severity != problem.Note {
			return false
		}
		again := seen[p.Message]
		seen[p.Message] = true
		return again
	})
}
