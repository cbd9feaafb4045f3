package transform

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/operator/roles"
)

// grant gives the service account of the Transform the rights of its graphs. Before that, it makes
// sure that the manager has those on the instances.
func (s *session) grant(ctx context.Context) (*blocked, error) {
	names := s.p.loaded.Names
	if b, err := s.missingRights(ctx, schema.GroupResource{Group: names.Group, Resource: names.Plural}); b != nil || err != nil {
		return b, err
	}
	switch {
	case s.RenderOnly:
		return nil, nil
	case s.t.Spec.ServiceAccountName != "":
		return nil, s.roles.Apply(ctx, s.key, nil)
	}
	grants, b, err := s.grants(ctx)
	if b != nil || err != nil {
		return b, err
	}
	if err := s.keepRights(ctx, grants); err != nil {
		return nil, err
	}
	if err := s.roles.Apply(ctx, s.key, grants); roles.Escalates(err) {
		return s.refuseRights(err.Error() + "; to let it, apply this ClusterRole: " + roles.ForManager(s.key.Name, grants.Rules)), nil
	} else if err != nil {
		return nil, err
	}
	return nil, s.roles.ListAccounts(ctx, roles.Account(s.Namespace, s.key).Name, s.mayList)
}

// generates reports whether the graphs run as an account that has generated roles.
func (s *session) generates() bool { return s.t.Spec.ServiceAccountName == "" && !s.RenderOnly }

// keepRights adds the rights of earlier versions of the module to grants, until every graph is
// one of the current version and has deleted the objects that left it. Without them, those
// objects could not be deleted. Listed resources are granted as they are.
func (s *session) keepRights(ctx context.Context, grants *roles.Grants) error {
	if len(s.t.Spec.ManagedResources) > 0 {
		return nil
	}
	// Roles come from informers, so this costs no request as long as nothing is left to remove.
	former, err := s.roles.Former(ctx, s.key, grants.Rules)
	if err != nil || len(former) == 0 {
		return err
	}
	pending, err := s.pending(ctx)
	if err != nil || !pending {
		return err
	}
	grants.Rules = append(slices.Clone(grants.Rules), former...)
	s.soon = pendingFactor * s.Backoff
	return nil
}

// pendingFactor is the time between two lists of graphs, in backoffs.
const pendingFactor = 12

// grants returns the rights that the graphs of the Transform need.
func (s *session) grants(ctx context.Context) (*roles.Grants, *blocked, error) {
	rules, b, err := s.rules(ctx)
	if b != nil || err != nil {
		return nil, b, err
	}
	if s.t.Spec.RBACScope != v1alpha1.RBACNamespace {
		return &roles.Grants{Rules: rules, Module: s.module(), Cluster: true}, nil, s.instances.forget(ctx, s.key)
	}
	names := s.p.loaded.Names
	if names.Scope == v1alpha1.ScopeCluster {
		b := s.refuseRights("rbacScope Namespace is for namespaced kinds; " + names.Kind + " is cluster-scoped")
		b.reason = reasonRefused
		return nil, b, nil
	}
	kind := schema.GroupVersionKind{Group: names.Group, Version: requestVersion(names), Kind: names.Kind}
	// The watch that counts instances also reconciles the Transform when a namespace gets its
	// first instance or loses its last one.
	counts, err := s.instances.namespaces(ctx, kind, s.key, false)
	if errors.Is(err, errNotListed) {
		return nil, s.notListed(v1alpha1.ConditionRBACConfigured, schema.GroupResource{Group: names.Group, Resource: names.Plural}), nil
	}
	if err != nil {
		return nil, nil, err
	}
	namespaces, err := s.withGraphs(ctx, slices.Sorted(maps.Keys(counts)))
	return &roles.Grants{Rules: rules, Module: s.module(), Namespaces: namespaces}, nil, err
}

// module returns the samples of the module, if they were needed.
func (s *session) module() roles.Module {
	return roles.Module{Digest: s.p.loaded.Module.Digest, Samples: s.p.samples}
}

// withGraphs adds the namespaces that have graphs, and no instances any more, to namespaces. An
// instance is gone before its graph is, which is deleted with the rights of the Transform. The
// graphs are listed only after the last instance of a namespace went.
func (s *session) withGraphs(ctx context.Context, namespaces []string) ([]string, error) {
	empty := func(namespace string) bool {
		_, found := slices.BinarySearch(namespaces, namespace)
		return !found
	}
	if s.p.granted && !slices.ContainsFunc(s.p.namespaces, empty) {
		s.p.namespaces = namespaces
		return namespaces, nil
	}
	all := slices.Clone(namespaces)
	err := s.eachGraph(ctx, func(g *v1alpha1.ResourceGraph) (bool, error) {
		all = append(all, g.Namespace)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if s.p.granted = len(all) == len(namespaces); s.p.granted {
		s.p.namespaces = namespaces
	} else {
		s.soon = pendingFactor * s.Backoff
	}
	return all, nil
}

// requestVersion returns a version of a kind that clients can use: the storage version if
// possible.
func requestVersion(names v1alpha1.Names) string {
	if served := names.Served(); len(served) > 0 && !slices.Contains(served, names.Version) {
		return served[0]
	}
	return names.Version
}

// rules returns the rules of managedResources, or those that the samples need.
func (s *session) rules(ctx context.Context) ([]rbacv1.PolicyRule, *blocked, error) {
	if len(s.t.Spec.ManagedResources) > 0 {
		return roles.Managed(s.t.Spec.ManagedResources), nil, nil
	}
	if s.p.rules != nil && !s.kinds.in(s.missingGroups()) {
		return s.p.rules, nil, nil
	}
	if b, err := s.sample(ctx); b != nil || err != nil {
		return nil, b, err
	}
	if len(s.p.samples) == 0 {
		b := s.refuseRights("the module renders no sample, from which the rights could be computed: list the resources of its graphs in spec.managedResources")
		b.reason = reasonNoSamples
		return nil, b, nil
	}
	needs, err := roles.Seen(s.p.samples, s.t.Spec.GraphDeletionPolicy, func(kind schema.GroupKind) (rbac.Resource, error) {
		mapping, err := s.mapper.RESTMapping(kind)
		if err != nil {
			return rbac.Resource{}, err
		}
		return rbac.Resource{Name: mapping.Resource.Resource, Namespaced: mapping.Scope.Name() == apimeta.RESTScopeNameNamespace}, nil
	})
	var escalation *roles.EscalationError
	if errors.As(err, &escalation) {
		return nil, s.refuseRights(escalation.Error() + "; to allow it, list all resources in spec.managedResources"), nil
	}
	if err != nil {
		return nil, s.refuseRights(err.Error()), nil
	}
	s.p.rules, s.p.unknown = append([]rbacv1.PolicyRule{}, needs.Rules...), needs.Unknown
	if s.missed(); s.kinds.in(s.missingGroups()) {
		// A CRD of the group exists, and discovery may not show it yet.
		s.soon = pendingFactor * s.Backoff
	}
	return s.p.rules, nil, nil
}

// missingGroups returns the API groups of kinds that the cluster doesn't know.
func (s *session) missingGroups() []string {
	var groups []string
	for _, kind := range s.p.unknown {
		groups = append(groups, kind.Group)
	}
	return groups
}

// missed has the Transform reconciled when a CRD of a group of missing kinds appears.
func (s *session) missed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if groups := s.missingGroups(); len(groups) > 0 {
		s.missing[s.key] = groups
	} else {
		delete(s.missing, s.key)
	}
}

// refuseRights returns the block for rights that are not granted. They are tried again, because
// the rights of the manager may change.
func (s *session) refuseRights(message string) *blocked {
	return &blocked{
		condition: v1alpha1.ConditionRBACConfigured, reason: v1alpha1.ReasonEscalationRefused, message: message, stalled: true, after: time.Minute,
	}
}
