package kinds

import (
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// CheckNode checks a rendered node: its object against the schema of the kind,
// and its readiness checks against the conditions that the kind can report.
// object is the node's resource, decoded, or nil. Of an external reference only
// the kind is known, so only that is checked. The paths begin at the node.
func (c *Catalog) CheckNode(n v1alpha1.Node, object map[string]any) problem.List {
	var ps problem.List
	add := func(base string, found ...problem.Problem) {
		for _, p := range found {
			p.Path = fieldpath.Concat(base, p.Path)
			ps = append(ps, p)
		}
	}
	s := Subject{}
	if n.ExternalRef != nil {
		s.APIVersion, s.Kind = n.ExternalRef.APIVersion, n.ExternalRef.Kind
		if _, p := c.Lookup(s.APIVersion, s.Kind); p != nil {
			add("externalRef", *p)
		}
	} else {
		s = subjectOf(object)
		add("resource", c.Check(object)...)
	}
	add("", c.Ready(s, n.ReadyWhen)...)
	return ps
}

// subjectOf returns the properties of an object that its readiness depends on.
// An unset type of a Service is ClusterIP, the default of the API server.
func subjectOf(object map[string]any) Subject {
	var s Subject
	s.APIVersion, _ = object["apiVersion"].(string)
	s.Kind, _ = object["kind"].(string)
	spec, _ := object["spec"].(map[string]any)
	typ, given := spec["type"]
	if s.ServiceType, _ = typ.(string); !given {
		s.ServiceType = "ClusterIP"
	}
	return s
}
