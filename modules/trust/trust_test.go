package trust_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/modules/trust"
)

// TestLocation has other spellings of hosts, which must not avoid a rule.
func TestLocation(t *testing.T) {
	for _, host := range []string{"ghcr.io", "GHCR.IO", "ghcr.io:443", "ghcr.io.", "Ghcr.io.:443"} {
		if got := trust.Location(host, "acme/web"); got != "ghcr.io/acme/web" {
			t.Errorf("%s: %s", host, got)
		}
	}
	for _, host := range []string{"docker.io", "index.docker.io", "registry-1.docker.io"} {
		if got := trust.Location(host, "acme/web"); got != "docker.io/acme/web" {
			t.Errorf("%s: %s", host, got)
		}
	}
	if got := trust.Location("ghcr.io:5000", "acme/web"); got != "ghcr.io:5000/acme/web" {
		t.Error(got)
	}
}

// TestPatterns has patterns and places.
func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, location string
		want              bool
	}{
		{"ghcr.io/acme/*", "ghcr.io/acme/web", true},
		{"ghcr.io/acme/*", "ghcr.io/acme/platforms/web", false},
		{"ghcr.io/acme/*", "ghcr.io/acme", false},
		{"ghcr.io/acme/*", "ghcr.io/acme-evil/web", false},
		{"ghcr.io/acme/*", "evil.example/ghcr.io/acme/web", false},
		{"ghcr.io/acme/*", "ghcrxio/acme/web", false},
		{"ghcr.io/acme/**", "ghcr.io/acme/platforms/web", true},
		{"ghcr.io/acme/web", "ghcr.io/acme/web", true},
		{"ghcr.io/acme/web", "ghcr.io/acme/web2", false},
		{"ghcr.io/*/web", "ghcr.io/acme/web", true},
		{"**", "ghcr.io/acme/web", true},
		{"*", "ghcr.io/acme/web", false},
	} {
		g := trust.New([]trust.Rules{{Allow: []string{test.pattern}}}, nil)
		if got := g.Location("x", test.location) == nil; got != test.want {
			t.Errorf("%s matches %s: %t", test.pattern, test.location, got)
		}
	}
}

// TestGuard has several files: each of them must allow a module.
func TestGuard(t *testing.T) {
	at := func(line int) problem.Position { return problem.Position{File: "pequod.yaml", Line: line, Column: 1} }
	g := trust.New([]trust.Rules{
		{Allow: []string{"**"}, At: at(1)},
		{},
		{Allow: []string{"ghcr.io/acme/*", "github.com/acme/*"}, At: at(2), Verify: []trust.Rule{{Modules: []string{"github.com/acme/signed"}, At: at(3)}}},
	}, nil)
	for location, want := range map[string]string{
		"ghcr.io/acme/web":       "",
		"ghcr.io/other/web":      "pequod.yaml:2:1: x: not in allow-modules",
		"github.com/acme/signed": "pequod.yaml:3:1: x: a signature is demanded, which only modules of registries have",
	} {
		err := g.Location("x", location)
		var list problem.List
		switch {
		case want == "" && err == nil:
		case !errors.As(err, &list) || len(list) != 1 || list[0].String() != want:
			t.Errorf("%s: %v", location, err)
		}
	}
}

// place is a registry that must not be asked.
type place struct{ t *testing.T }

func (p place) Image(_ context.Context, ref oci.Ref) (v1.Image, error) {
	p.t.Errorf("%s is asked for", ref)
	return nil, errors.New("asked")
}

func (p place) Tags(_ context.Context, ref oci.Ref) ([]string, error) {
	p.t.Errorf("%s is asked for its tags", ref)
	return nil, errors.New("asked")
}

func (p place) Referrers(_ context.Context, ref oci.Ref, _ string) ([]v1.Descriptor, error) {
	p.t.Errorf("%s is asked for its signatures", ref)
	return nil, errors.New("asked")
}

var _ sign.Reader = place{}

// TestNothingIsAsked has a module that the list lacks: no registry learns of it.
func TestNothingIsAsked(t *testing.T) {
	g := trust.New([]trust.Rules{{Allow: []string{}}}, nil)
	a := g.Artifacts(place{t}, place{t})
	ref := oci.Ref{Host: "ghcr.io", Repository: "acme/web", Tag: "v1.0.0"}
	if _, err := a.Image(t.Context(), ref); err == nil || !strings.HasSuffix(err.Error(), "not in allow-modules") {
		t.Error(err)
	}
	if _, err := a.Tags(t.Context(), ref.Place()); err == nil || !strings.HasSuffix(err.Error(), "not in allow-modules") {
		t.Error(err)
	}
}
