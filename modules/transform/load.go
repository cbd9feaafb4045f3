package transform

import (
	"cmp"
	"errors"
	"slices"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/render"
)

// Load evaluates the module and the policies, and returns the platform. A module may not
// terminate, so callers run Load under limits; see [render.Guard] and [Sources.Subject].
//
// Its errors are a [problem.List]. Problems of a value in the spec have its path and the
// position From.
func (s *Sources) Load() (*render.Platform, error) {
	m, err := render.Load(s.Module.Source)
	if err != nil {
		return nil, s.digestProblem(err, s.Module.Path)
	}
	p, err := render.NewPlatform(cmp.Or(s.Name, s.Module.Name), s.Spec, m)
	if err != nil {
		return nil, s.nameProblems(err, m.Ref)
	}
	p.From = s.From
	for _, policy := range s.Policies {
		loaded, err := LoadPolicy(policy.Source)
		if err != nil {
			return nil, s.digestProblem(err, policy.Path)
		}
		p.Policies = append(p.Policies, loaded)
	}
	return p, nil
}

// LoadPolicy evaluates a policy.
func LoadPolicy(src render.Source) (*render.Policy, error) {
	m, err := render.Load(src)
	if err != nil {
		return nil, err
	}
	return render.NewPolicy(m)
}

// Subject returns the subject of evaluations of the sources. Its files are those of the
// module and of all policies, because either may be the cause.
func (s *Sources) Subject() render.Subject {
	return render.Subject{Name: s.From, Files: func() []*ast.File {
		files := s.Module.Files()
		for _, policy := range s.Policies {
			files = append(files, policy.Files()...)
		}
		return files
	}}
}

// digestProblem returns the error of loading a module. If the module has another digest than
// its reference, the error is a problem of that digest. path is that of the reference.
func (s *Sources) digestProblem(err error, path string) error {
	var digest *render.DigestError
	if !errors.As(err, &digest) {
		return err
	}
	return problem.List{{
		Position: problem.Position{File: s.From}, Path: fieldpath.Join(path, "digest"), Rule: problem.RuleDigest,
		Message: digest.Error(),
	}}
}

// nameProblems returns the error of [render.NewPlatform], in which problems of names that the
// Transform gives have their paths in it. Others are about #Platform.
func (s *Sources) nameProblems(err error, module string) error {
	var problems problem.List
	if !errors.As(err, &problems) {
		return err
	}
	set := map[string]bool{
		"group": s.Spec.Group != "", "version": s.Spec.Version != "", "kind": s.Spec.Kind != "", "plural": s.Spec.Plural != "",
		"scope": s.Spec.Scope != "", "shortNames": s.Spec.ShortNames != nil, "categories": s.Spec.Categories != nil,
	}
	placed := slices.Clone(problems)
	for i, p := range placed {
		if set[p.Path] && p.Position == (problem.Position{File: module}) {
			placed[i].Path = fieldpath.Join("spec", p.Path)
			placed[i].Position = problem.Position{File: s.From}
		}
	}
	return placed
}

// Refused returns the errors of opening a module as problems if the answer is no: what is
// there is not what the reference or its digest names, or no module. All other errors
// mean that there is no answer, and are returned as they are.
func Refused(err error) error {
	var not *artifact.NotModuleError
	var limit *artifact.LimitError
	var tooNew *artifact.TooNewError
	rule := problem.RulePlatform
	switch {
	case oci.Causes(err, oci.DigestMismatch):
		rule = problem.RuleDigest
	case errors.As(err, &not), errors.As(err, &limit), errors.As(err, &tooNew), oci.Causes(err, oci.WrongType), oci.Causes(err, oci.TooLarge):
	default:
		return err
	}
	return problem.List{{Rule: rule, Message: err.Error()}}
}
