package sides

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/crdgen/compat"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/review"
)

// moduleInputs compares the platforms by their kinds, with the definitions that users see.
// Embedded modules are part of the program.
func moduleInputs(ctx context.Context, base, head *Side) []review.Input {
	was, is := base.platforms(), head.platforms()
	kinds := slices.Collect(maps.Keys(was))
	for kind := range is {
		if was[kind] == nil {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	var all []review.Input
	for _, kind := range kinds {
		old, new := was[kind], is[kind]
		switch {
		// A side that lacks a platform because it can't be loaded has a failure.
		case old == nil && len(base.Failures) > 0 || new == nil && len(head.Failures) > 0:
		case old == nil || new == nil:
			in := inputOf(review.InputModule, kind, moduleVersion(old), moduleVersion(new))
			if new == nil {
				in.Breaking = []string{"the kind " + kind + " has no platform any more"}
			}
			all = append(all, in)
		case !samePlatform(old, new):
			in := review.Input{Kind: review.InputModule, Name: kind, Action: objectdiff.Modify, Old: moduleVersion(old), New: moduleVersion(new)}
			in.Breaking, in.Notes = definitionChanges(ctx, head, old, new)
			if old.ServiceAccountName != new.ServiceAccountName {
				in.Notes = append(in.Notes, "service account of the graphs: "+orNone(old.ServiceAccountName)+" → "+orNone(new.ServiceAccountName))
			}
			all = append(all, in)
		}
	}
	return all
}

// orNone returns a name, or the word for a missing one.
func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// platforms returns the platforms of a side that flags name, by their kinds.
func (s *Side) platforms() map[string]*render.Platform {
	all := map[string]*render.Platform{}
	if s.catalog != nil {
		for _, p := range s.catalog.Given {
			all[p.GroupKind()] = p
		}
	}
	return all
}

// moduleVersion returns the version of a module with the beginning of its digest. It is ""
// for nil.
func moduleVersion(p *render.Platform) string {
	if p == nil {
		return ""
	}
	return strings.TrimSpace(p.Module.Version + " " + short(p.Module.Digest))
}

// definitionChanges compares the CRDs of two versions of a platform. A definition that can't
// be generated has a note, because nothing is known about it.
func definitionChanges(ctx context.Context, head *Side, old, new *render.Platform) (breaking, notes []string) {
	crds, err := render.Map(ctx, head.flags.Limits(), []*render.Platform{old, new}, (*render.Platform).Subject, crd.Generate)
	if err != nil {
		return nil, []string{"the definitions can't be compared: " + err.Error()}
	}
	for _, c := range compat.Check(crds[0].CRD, crds[1].CRD) {
		text := strings.TrimSpace(c.Version + " " + c.Path)
		if text != "" {
			text += ": "
		}
		text += c.Message
		switch {
		case c.Breaking():
			breaking = append(breaking, text)
		case c.Severity == problem.Warning:
			notes = append(notes, text)
		}
	}
	return breaking, notes
}

// policyInputs compares the policies of --policy and those of platforms, by their references.
func policyInputs(base, head *Side) []review.Input {
	was, is := base.policyDigests(), head.policyDigests()
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if was[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var all []review.Input
	for _, name := range names {
		if was[name] != is[name] && base.withoutProblems() && head.withoutProblems() {
			all = append(all, inputOf(review.InputPolicy, name, was[name], is[name]))
		}
	}
	return all
}

// policyDigests returns the beginnings of the digests of the policies, by their names.
func (s *Side) policyDigests() map[string]string {
	all := map[string]string{}
	add := func(prefix string, policies []*render.Policy) {
		for _, p := range policies {
			all[prefix+path.Clean(s.Checkout.Relative(p.Module.Ref))] = short(p.Module.Digest)
		}
	}
	add("", s.policies)
	for kind, p := range s.platforms() {
		add(kind+": ", p.Policies)
	}
	return all
}
