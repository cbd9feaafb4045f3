package render

import (
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// SetNamespaces sets the namespaces of an instance and its graph. A namespaced
// instance without a namespace gets the given one, and its graph has the same
// namespace. A cluster-scoped instance must name the namespace of its graph, in
// the field graphNamespace: a ResourceGraph always has one.
func (in *Instance) SetNamespaces(p *Platform, namespace string) problem.List {
	var ps problem.List
	add := func(path, rule, message string) {
		ps = append(ps, problem.Problem{Position: in.PosOf(path), Path: path, Rule: rule, Message: message, Instance: in.String()})
	}
	if p.Scope == v1alpha1.ScopeCluster {
		if in.Namespace != "" {
			add("metadata.namespace", problem.RuleInstance, in.Kind+" is cluster-scoped and has no namespace")
		}
		if in.graphNamespace == "" {
			add("graphNamespace", problem.RuleRequired, "missing: "+in.Kind+" is cluster-scoped, its graph is not")
		}
		return ps
	}
	if in.graphNamespace != "" {
		add("graphNamespace", problem.RuleInstance, "only cluster-scoped kinds choose it; the graph lies in the instance's namespace")
	}
	if in.Namespace == "" {
		in.Namespace = namespace
	}
	in.graphNamespace = in.Namespace
	return ps
}

// GraphOf returns the namespace and the name of the instance's graph without
// its platform. namespace is the default for instances that have none. An
// instance with a graphNamespace counts as cluster-scoped.
func (in *Instance) GraphOf(namespace string) (graphNamespace, name string) {
	if in.graphNamespace != "" {
		return in.graphNamespace, v1alpha1.GraphName(in.Group(), in.Kind, in.Namespace, in.Name)
	}
	if in.Namespace != "" {
		namespace = in.Namespace
	}
	return namespace, v1alpha1.GraphName(in.Group(), in.Kind, namespace, in.Name)
}
