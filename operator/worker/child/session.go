package child

import (
	"context"
	"errors"
	"runtime/debug"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/operator/worker/protocol"
	"github.com/pequod-io/pequod/render"
)

// session is a loaded platform and what evaluates it.
type session struct {
	platform *render.Platform // nil until load
	limits   render.Limits
	renderer *render.Renderer
	// schemas are those of the versions of the kind, or nil until pruned.
	schemas map[string]*structuralschema.Structural
	last    reading
}

// load loads the platform of encoded sources.
func (s *session) load(ctx context.Context, request *protocol.Load, sources []byte) error {
	if transform.Digest(sources) != request.Digest {
		return errCorrupt
	}
	s.limits = render.Limits{Timeout: request.Timeout, Clock: request.Clock, Memory: request.Memory}
	s.renderer = &render.Renderer{Options: render.Options{AllowSecrets: request.AllowSecrets}}
	decoded, err := transform.Decode(sources)
	if err != nil {
		return err
	}
	s.platform, err = render.Guard(ctx, s.limits, decoded.Subject(), decoded.Load)
	return err
}

// errCorrupt reports sources that don't have their digest.
var errCorrupt = errors.New("the sources don't have their digest")

// describe generates the CRD.
func (s *session) describe(ctx context.Context) (*protocol.Description, error) {
	p := s.platform
	return render.Guard(ctx, s.limits, p.Subject(), func() (*protocol.Description, error) {
		made, err := crd.Generate(p)
		if err != nil {
			return nil, err
		}
		return &protocol.Description{
			CRD: made.CRD, Names: p.Names, Notes: made.Notes, Digest: p.Module.Digest, Version: p.Module.Version,
			StatusFields: crdgen.OwnStatus(made.CRD), IgnoresLabels: !p.ReadsLabels(), IgnoresAnnotations: !p.ReadsAnnotations(), Converts: p.Converts(),
		}, nil
	})
}

// sample renders samples.
func (s *session) sample(ctx context.Context, request protocol.Sample) ([]*v1alpha1.ResourceGraph, error) {
	ctx, cancel := render.WithLimits(ctx, render.Limits{Timeout: request.Timeout, Clock: request.Clock}, s.platform.Subject(), "evaluation of samples")
	defer cancel()
	defer s.rest() // all samples together leave much more garbage than an instance
	return vet.Graphs(ctx, s.platform, s.limits)
}

// rest gives memory back that the next evaluation can do without. It keeps the platform, but
// not the modules that the renderer has evaluated.
func (s *session) rest() {
	s.last = reading{}
	if s.renderer != nil {
		s.renderer = &render.Renderer{Options: s.renderer.Options}
	}
	debug.FreeOSMemory()
}
