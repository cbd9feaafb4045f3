package transform

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen/compat"
	"github.com/pequod-io/pequod/operator/definitions"
)

// definition returns a CRD of the cluster, or nil. The cache has only generated ones, so one
// that it lacks is read from the API server.
func (s *session) definition(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := types.NamespacedName{Name: name}
	err := s.client.Get(ctx, key, crd)
	if apierrors.IsNotFound(err) {
		err = s.api.Get(ctx, key, crd)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return crd, err
}

// define applies the CRD, unless it is not the Transform's or would break objects.
func (s *session) define(ctx context.Context) (*blocked, error) {
	desired := s.p.loaded.CRD
	if err := definitions.Reserved(desired.Spec.Group); err != nil {
		return s.refuse(reasonReserved, err.Error()), nil
	}
	live, err := s.definition(ctx, desired.Name)
	if err != nil {
		return nil, err
	}
	if b, err := s.claim(ctx, desired.Name, live); b != nil || err != nil {
		return b, err
	}
	if live != nil && definitions.Applied(live, s.t.Name) && definitions.Same(live, desired) {
		return s.wait(live), s.announce(ctx, nil)
	}
	var changes []compat.Change
	if live != nil {
		changes = definitions.Changes(live, desired)
	}
	if err := s.announce(ctx, changes); err != nil {
		return nil, err
	}
	if breaking := definitions.Breaking(changes); len(breaking) > 0 && !s.approved() && !s.drifted(live) {
		return s.breaks(breaking), nil
	}
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

// drifted reports whether others have edited the CRD of the module that is in use. It is then
// restored, even if that takes fields away again.
func (s *session) drifted(live *apiextensionsv1.CustomResourceDefinition) bool {
	resolved := s.t.Status.ResolvedCueRef
	return resolved != nil && resolved.Digest == s.p.loaded.Module.Digest && definitions.Applied(live, s.t.Name) && definitions.Edited(live)
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
	if c := definitions.Condition(crd, apiextensionsv1.NamesAccepted); c != nil && c.Status == apiextensionsv1.ConditionFalse {
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
	case !definitions.Applied(live, s.t.Name) && !slices.Contains(s.t.Spec.AdoptCRDs, name):
		s.wake(s.claims.release(s.key, ""))
		s.claims.await(name, s.key)
		return s.conflict(name, definitions.Owner(live)+"; to take it over, list it in spec.adoptCRDs"), nil
	}
	if s.t.Status.GeneratedCRD == name {
		return nil, nil
	}
	next := s.t.Status.DeepCopy()
	next.GeneratedCRD = name
	s.blockedBy(next, waiting("Generating", "CustomResourceDefinition "+name+" is being applied", 0))
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
	if err != nil || live == nil || !definitions.Applied(live, s.t.Name) {
		return nil, err
	}
	return s.refuse(reasonKindChanged, fmt.Sprintf(
		"the Transform generates CustomResourceDefinition %s; create another Transform for %s, and delete this one when no instance needs it", old, name)), nil
}

// announce shows new content in the status before it is used, with its changes of the CRD.
func (s *session) announce(ctx context.Context, changes []compat.Change) error {
	resolved, module := s.t.Status.ResolvedCueRef, s.p.loaded.Module
	if resolved == nil || resolved.Digest == module.Digest {
		return nil
	}
	next := s.t.Status.DeepCopy()
	available := &v1alpha1.AvailableCueRef{
		Digest: module.Digest, Version: module.Version, SeenAt: metav1.NewTime(s.now), ChangeCount: len(changes),
		Breaking: len(definitions.Breaking(changes)) > 0,
	}
	for _, c := range changes[:min(len(changes), v1alpha1.MaxChanges)] {
		available.Changes = append(available.Changes, cut(definitions.Text(c), 512))
	}
	if old := next.AvailableCueRef; old != nil && old.Digest == available.Digest {
		available.SeenAt = old.SeenAt
	}
	known := next.AvailableCueRef != nil && next.AvailableCueRef.Digest == available.Digest
	next.AvailableCueRef = available
	if err := s.writeStatus(ctx, next); err != nil || known {
		return err
	}
	s.emit(corev1.EventTypeNormal, "NewModuleVersion", "Fetch", fmt.Sprintf("the module changed from %s to %s, with %d changes of the CRD",
		named(resolved.Version, resolved.Digest), named(module.Version, module.Digest), len(changes)))
	return nil
}

// named returns a version with its digest.
func named(version, digest string) string {
	if version == "" {
		return digest
	}
	return version + " (" + digest + ")"
}

// cut returns the first characters of a text.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// served reports whether a CRD of the Transform is served.
func (s *session) served(ctx context.Context, name string) bool {
	live, err := s.definition(ctx, name)
	return err == nil && live != nil && definitions.Applied(live, s.t.Name) && definitions.Established(live)
}

// inPlace reports whether the CRD is served exactly as it should be.
func (s *session) inPlace(ctx context.Context) bool {
	live, err := s.definition(ctx, s.p.loaded.CRD.Name)
	return err == nil && live != nil && live.Name == s.t.Status.GeneratedCRD && definitions.Applied(live, s.t.Name) &&
		definitions.Same(live, s.p.loaded.CRD) && definitions.Established(live)
}

// migrate has all objects stored in a version of desired, if it drops one in which they may be
// stored. Everything that it has done can be seen in the CRD, so that a restarted process
// continues.
func (s *session) migrate(ctx context.Context, live, desired *apiextensionsv1.CustomResourceDefinition) (*blocked, error) {
	if len(definitions.Dropped(live, desired)) == 0 {
		return nil, nil
	}
	between := definitions.Transitional(live, desired)
	if !definitions.Same(live, between) {
		stored, err := definitions.Apply(ctx, s.client, between)
		if err != nil {
			return nil, err
		}
		live = stored
	}
	// Other API servers learn of the new version some time later, and store objects in the
	// old one until then.
	if settled := definitions.AppliedAt(live).Add(s.Settle).Sub(s.now); settled > 0 {
		return waiting(reasonMigrating, "objects will be stored in the version of the new CustomResourceDefinition "+desired.Name, settled), nil
	}
	if b := s.wait(live); b != nil {
		return b, nil
	}
	// The cache lacks fields of the CRD that the precondition of the last write needs.
	fresh := &apiextensionsv1.CustomResourceDefinition{}
	if err := s.api.Get(ctx, client.ObjectKeyFromObject(live), fresh); err != nil {
		return nil, err
	}
	if err := definitions.Migrate(ctx, s.api, s.client, fresh); apierrors.IsConflict(err) || ctx.Err() != nil {
		return nil, err
	} else if err != nil {
		return &blocked{condition: v1alpha1.ConditionCRDGenerated, reason: reasonMigration, message: err.Error(), after: time.Minute}, nil
	}
	return nil, nil
}
