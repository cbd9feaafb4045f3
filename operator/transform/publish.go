package transform

import (
	"context"
	"errors"

	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/definitions"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/operator/worker"
)

// entry returns the entry of the platform in the catalog.
func (s *session) entry(fetched *fetch.Fetched, loaded *worker.Loaded) *catalog.Entry {
	return &catalog.Entry{
		Transform: s.key, UID: s.t.UID, Generation: s.t.Generation,
		Digest: fetched.Digest, Sources: fetched.Sources, Module: catalog.Module(loaded.Module), Names: loaded.Names,
		Paused: s.isPaused(), IgnoresLabels: loaded.IgnoresLabels, IgnoresAnnotations: loaded.IgnoresAnnotations,
		ServiceAccountName: s.t.Spec.ServiceAccountName, Account: roles.Account(s.Namespace, s.key),
		GraphDeletionPolicy: s.t.Spec.GraphDeletionPolicy, StatusFields: loaded.StatusFields,
	}
}

// publish lists the platform in the catalog, and keeps its sources for a restart.
func (s *session) publish() {
	s.Catalog.Set(s.entry(s.p.fetched, s.p.loaded))
	s.store.save(s.t.UID, s.p.fetched.Digest, s.p.fetched.Sources)
}

// keep keeps the last good version in the catalog. A restarted process lists it if it finds
// its sources and its CRD. Without them, its instances are not rendered until the Transform is
// ready.
func (s *session) keep(ctx context.Context) error {
	if old := s.Catalog.Of(s.key); old != nil {
		kept := *old
		kept.Paused = s.isPaused()
		s.Catalog.Set(&kept)
		return nil
	}
	if s.t.Status.GeneratedCRD == "" || s.t.Status.ResolvedCueRef == nil {
		return nil
	}
	fetched := s.store.read(s.t.UID)
	if fetched == nil {
		return nil
	}
	loaded, err := s.Loader.Load(ctx, worker.Key{Transform: s.key, Digest: fetched.Digest}, fetched.Sources)
	if err != nil {
		s.store.remove(s.t.UID) // it was good once: do not try it again
		return ctx.Err()
	}
	if loaded.Module.Digest == s.t.Status.ResolvedCueRef.Digest && loaded.CRD.Name == s.t.Status.GeneratedCRD && s.served(ctx, loaded.CRD.Name) {
		s.Catalog.Set(s.entry(fetched, loaded))
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
		s.Catalog.Set(s.entry(s.p.fetched, s.p.loaded))
		return nil
	}
	return s.keep(ctx)
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
