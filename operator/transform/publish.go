package transform

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/definitions"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/operator/worker"
)

// entry returns the entry of the platform in the catalog.
func (s *session) entry(ctx context.Context, fetched *fetch.Fetched, loaded *worker.Loaded) (*catalog.Entry, error) {
	e := &catalog.Entry{
		Transform: s.key, UID: s.t.UID, Generation: s.t.Generation,
		Digest: fetched.Digest, Sources: fetched.Sources, Module: catalog.Module(loaded.Module), Policies: s.Policies, Names: loaded.Names,
		Paused: s.isPaused(), IgnoresLabels: loaded.IgnoresLabels, IgnoresAnnotations: loaded.IgnoresAnnotations,
		ServiceAccountName: s.t.Spec.ServiceAccountName, Account: roles.Account(s.Namespace, s.key),
		GraphDeletionPolicy: s.t.Spec.GraphDeletionPolicy, StatusFields: loaded.StatusFields,
		Rollout: s.t.Spec.Rollout, Schema: schemaOf(loaded.CRD),
	}
	others, err := s.revisions.List(ctx, s.key)
	if err != nil {
		return nil, err
	}
	// Informers may not show the version that was saved last.
	if old := s.Catalog.Of(s.key); old != nil {
		others = append(append(others, old.Current()), old.Others...)
	}
	for _, v := range others {
		if e.At(v.Module.Digest) == nil {
			e.Others = append(e.Others, v)
		}
	}
	return e, nil
}

// schemaOf identifies the spec of a CRD.
func schemaOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	raw, err := json.Marshal(crd.Spec)
	if err != nil {
		return "" // can't happen: it was decoded from JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))
}

// publish lists the platform in the catalog. Its sources are kept in the cluster before any
// instance has them.
func (s *session) publish(ctx context.Context) error {
	e, err := s.entry(ctx, s.p.fetched, s.p.loaded)
	if err != nil {
		return err
	}
	if err := s.revisions.Save(ctx, s.t, e.Current(), e.Sources); err != nil {
		return err
	}
	s.Catalog.Set(e)
	return nil
}

// keep keeps the last good version in the catalog. A restarted process lists it if its sources
// were kept and it finds its CRD. Without them, its instances are not rendered until the
// Transform is ready.
func (s *session) keep(ctx context.Context) error {
	if old := s.Catalog.Of(s.key); old != nil {
		kept := *old
		kept.Paused, kept.Rollout = s.isPaused(), s.t.Spec.Rollout
		s.Catalog.Set(&kept)
		return nil
	}
	if s.t.Status.GeneratedCRD == "" || s.t.Status.ResolvedCueRef == nil {
		return nil
	}
	known, err := s.revisions.List(ctx, s.key)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(known, func(v catalog.Version) bool {
		return v.Module.Digest == s.t.Status.ResolvedCueRef.Digest && v.Policies == s.Policies
	})
	if i < 0 || s.p.unusable == known[i].Digest {
		return nil
	}
	fetched := &fetch.Fetched{Digest: known[i].Digest}
	if fetched.Sources, err = s.revisions.Read(ctx, s.key, fetched.Digest); err != nil {
		return client.IgnoreNotFound(err)
	}
	loaded, err := s.Loader.Load(ctx, worker.Key{Transform: s.key, Digest: fetched.Digest}, fetched.Sources)
	if err != nil {
		s.p.unusable = fetched.Digest // it was good once: do not try it again
		return ctx.Err()
	}
	if loaded, err = s.named(ctx, loaded); err != nil {
		return err
	}
	if loaded.CRD.Name != s.t.Status.GeneratedCRD || !s.served(ctx, loaded.CRD.Name) {
		return nil
	}
	e, err := s.entry(ctx, fetched, loaded)
	if err == nil {
		s.Catalog.Set(e)
	}
	return err
}

// explain lists a platform that has no good version with the cause, so that its instances show it.
func (s *session) explain(ctx context.Context, b *blocked) error {
	name := s.t.Status.GeneratedCRD
	if name == "" || s.Catalog.Of(s.key) != nil || b.reason == reasonConflict || b.reason == reasonInstancesForbidden || !s.served(ctx, name) {
		return nil
	}
	live, err := s.definition(ctx, name)
	if err != nil || live == nil {
		return err
	}
	names := v1alpha1.Names{
		Group: live.Spec.Group, Version: definitions.Served(live), Kind: live.Spec.Names.Kind, Plural: live.Spec.Names.Plural,
		Scope: v1alpha1.Scope(live.Spec.Scope),
	}
	if missing, err := s.missingRights(ctx, schema.GroupResource{Group: names.Group, Resource: names.Plural}); missing != nil || err != nil {
		return err
	}
	e := &catalog.Entry{Transform: s.key, UID: s.t.UID, Generation: s.t.Generation, Names: names, Paused: s.isPaused(), NotReady: b.reason + ": " + b.message}
	if other := s.Catalog.Get(e.Kind()); other == nil {
		s.Catalog.Set(e)
	}
	return nil
}

// list lists a platform whose CRD is as it should be, and otherwise its last good version. It
// writes nothing.
func (s *session) list(ctx context.Context) error {
	for _, step := range []func(context.Context) (*blocked, error){s.fetch, s.load} {
		if b, err := step(ctx); b != nil || err != nil {
			return errors.Join(err, s.keep(ctx))
		}
	}
	if s.inPlace(ctx) {
		e, err := s.entry(ctx, s.p.fetched, s.p.loaded)
		if err == nil {
			s.Catalog.Set(e)
		}
		return err
	}
	return s.keep(ctx)
}

// served reports whether a CRD of the Transform is served.
func (s *session) served(ctx context.Context, name string) bool {
	live, err := s.definition(ctx, name)
	return err == nil && live != nil && live.DeletionTimestamp.IsZero() && definitions.Applied(live, s.t) && definitions.Established(live)
}

// inPlace reports whether the CRD is served exactly as it should be.
func (s *session) inPlace(ctx context.Context) bool {
	desired, b, err := s.desired(ctx)
	if b != nil || err != nil {
		return false
	}
	live, err := s.definition(ctx, desired.Name)
	return err == nil && live != nil && live.Name == s.t.Status.GeneratedCRD && definitions.Applied(live, s.t) &&
		definitions.Same(live, desired) && definitions.Established(live)
}
