package transform

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen/compat"
	"github.com/pequod-io/pequod/operator/definitions"
	"github.com/pequod-io/pequod/operator/definitions/converting"
)

// define applies the CRD, unless it is not the Transform's or would break objects.
func (s *session) define(ctx context.Context) (*blocked, error) {
	if err := definitions.Reserved(s.p.loaded.CRD.Spec.Group); err != nil {
		return s.refuse(reasonReserved, err.Error()), nil
	}
	desired, b, err := s.desired(ctx)
	if b != nil || err != nil {
		return b, err
	}
	live, err := s.definition(ctx, desired.Name)
	if err != nil {
		return nil, err
	}
	if b, err := s.lost(ctx, desired.Name, live); b != nil || err != nil {
		return b, err
	}
	// Ownership comes first: the changes of a CRD of others are none of this Transform's.
	if b, err := s.claim(ctx, desired.Name, live); b != nil || err != nil {
		return b, err
	}
	if live != nil && definitions.Applied(live, s.t) && definitions.Same(live, desired) {
		return s.wait(live), s.announce(ctx, nil)
	}
	// The changes are shown before anything is decided, so that a refused version can be
	// reviewed and approved.
	var changes []compat.Change
	if live != nil {
		changes = definitions.Changes(live, desired)
	}
	if err := s.announce(ctx, changes); err != nil {
		return nil, err
	}
	if breaking := definitions.Breaking(changes); len(breaking) > 0 && !s.approved() && !s.drifted(live, desired) {
		return s.breaks(breaking), nil
	}
	s.convertBy(desired)
	// The API server refuses a CRD that lacks a version in which objects may be stored.
	if live != nil {
		if b, err := s.migrate(ctx, live, desired); b != nil || err != nil {
			return b, err
		}
	}
	stored, err := definitions.Apply(ctx, s.client, desired)
	if err != nil {
		return nil, err
	}
	return s.wait(stored), nil
}

// refuse returns the block for a CRD that isn't applied until a user changes something.
func (s *session) refuse(reason, message string) *blocked {
	return &blocked{condition: v1alpha1.ConditionCRDGenerated, reason: reason, message: message, stalled: true}
}

// waiting returns the block for a CRD that an event continues.
func waiting(reason, message string, after time.Duration) *blocked {
	return &blocked{condition: v1alpha1.ConditionCRDGenerated, reason: reason, message: message, after: after}
}

// approved reports whether a user has approved the breaking changes of the module.
func (s *session) approved() bool {
	return s.t.Spec.ApprovedBreakingDigest == s.p.loaded.Module.Digest
}

// drifted reports whether the CRD of the module that is in use was edited by others, or lost
// its webhook because the manager serves none any more. It is then restored, even if that takes
// fields away again.
func (s *session) drifted(live, desired *apiextensionsv1.CustomResourceDefinition) bool {
	resolved := s.t.Status.ResolvedCueRef
	return resolved != nil && resolved.Digest == s.p.loaded.Module.Digest && definitions.Applied(live, s.t) &&
		(definitions.Edited(live) || converting.ByManager(live.Spec.Conversion) != converting.ByManager(desired.Spec.Conversion))
}

// breaks returns the block for breaking changes, with the first of them.
func (s *session) breaks(breaking []compat.Change) *blocked {
	var all []string
	for _, c := range breaking {
		all = append(all, definitions.Text(c))
	}
	return s.refuse(reasonBreaking, firstLines(all)+
		"\nto apply them nevertheless, set spec.approvedBreakingDigest to "+s.p.loaded.Module.Digest)
}

// wait returns the block for a CRD that is applied and not served yet.
func (s *session) wait(crd *apiextensionsv1.CustomResourceDefinition) *blocked {
	if c := apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted); c != nil && c.Status == apiextensionsv1.ConditionFalse {
		return s.refuse(reasonNames, c.Message)
	}
	if !definitions.Established(crd) {
		return waiting(reasonNotEstablished, "CustomResourceDefinition "+crd.Name+" is not served yet", 0)
	}
	return nil
}

// claim makes sure that the CRD is this Transform's, or may become it. From then on, the
// status names the CRD.
func (s *session) claim(ctx context.Context, name string, live *apiextensionsv1.CustomResourceDefinition) (*blocked, error) {
	if b, err := s.keepsKind(ctx, name); b != nil || err != nil {
		return b, err
	}
	// Claims in the status survive restarts. Those of this process come before the first write
	// of a status, when two new Transforms have the same kind.
	for _, other := range s.generating(ctx, name) {
		if other.UID != s.t.UID && s.allowed(other.Namespace) && !s.precedes(&other) {
			s.claims.await(name, s.key)
			return s.conflict(name, "Transform "+client.ObjectKeyFromObject(&other).String()+" generates it"), nil
		}
	}
	if owner := s.claims.take(name, s.key); owner != s.key {
		return s.conflict(name, "Transform "+owner.String()+" generates it"), nil
	}
	s.wake(s.claims.release(s.key, name))
	switch {
	case live == nil:
	case !live.DeletionTimestamp.IsZero():
		return waiting(reasonDeleting, "CustomResourceDefinition "+name+" is being deleted", time.Minute), nil
	case !definitions.Applied(live, s.t):
		if how := definitions.Adoptable(live, s.t); how != "" {
			s.wake(s.claims.release(s.key, ""))
			s.claims.watch(name, s.key)
			return s.conflict(name, definitions.Owner(live)+"; "+how), nil
		}
	}
	if s.t.Status.GeneratedCRD == name {
		return nil, nil
	}
	// The claim is written before the CRD: if this process ends in between, the Transform still
	// deletes the CRD when it is deleted.
	next := s.t.Status.DeepCopy()
	next.GeneratedCRD = name
	s.blockedBy(next, waiting(reasonGenerating, "CustomResourceDefinition "+name+" is being applied", 0))
	return nil, s.writeStatus(ctx, next)
}

// conflict returns the block for a CRD that is another owner's.
func (s *session) conflict(crd, owner string) *blocked {
	return s.refuse(reasonConflict, "CustomResourceDefinition "+crd+" exists: "+owner)
}

// precedes reports whether this Transform has the better claim to a CRD that both name in
// their status: that of the older one.
func (s *session) precedes(other *v1alpha1.Transform) bool {
	if s.t.Status.GeneratedCRD != other.Status.GeneratedCRD {
		return false
	}
	if !s.t.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return s.t.CreationTimestamp.Before(&other.CreationTimestamp)
	}
	return s.t.UID < other.UID
}

// keepsKind refuses to generate another CRD than before while the old one exists: nothing
// would reconcile its instances.
func (s *session) keepsKind(ctx context.Context, name string) (*blocked, error) {
	old := s.t.Status.GeneratedCRD
	if old == "" || old == name {
		return nil, nil
	}
	live, err := s.definition(ctx, old)
	if err != nil || live == nil || !definitions.Applied(live, s.t) {
		return nil, err
	}
	if desired := s.p.loaded.CRD.Spec; desired.Group == live.Spec.Group && desired.Names.Kind == live.Spec.Names.Kind {
		return s.refuse(reasonKindChanged, fmt.Sprintf("CustomResourceDefinition %s has the plural %s for %s, not %s, and can't be renamed; set spec.plural to %[2]s to keep it",
			old, live.Spec.Names.Plural, live.Spec.Names.Kind, desired.Names.Plural)), nil
	}
	return s.refuse(reasonKindChanged, fmt.Sprintf(
		"the Transform generates CustomResourceDefinition %s; create another Transform for %s, and delete this one when no instance needs it", old, name)), nil
}
