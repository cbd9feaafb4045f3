// Package trust decides which published modules may be used.
//
// [Rules] are the rules of one file: a list of allowed modules, and who must have signed
// which ones. [New] makes a [Guard] of the rules of all files that apply. Each file can only
// add conditions: a module must be allowed by every list, and be signed as every rule
// demands that matches it. [Guard.Artifacts] is a reader of artifacts that refuses others
// before their content is fetched, and [Guard.Location] checks places that have no
// artifacts, such as git repositories. [Guard.Signed] demands signatures only: bundles are
// output, and not evaluated, so a list of modules doesn't restrict them.
//
// Rules are about places on other machines. Directories, layouts and archives are files of
// the user's.
package trust

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
)

// Rules are the rules of one file.
type Rules struct {
	// Allow has patterns of the modules that may be used. nil allows all of them.
	Allow []string
	// At is the position of Allow, and zero if it is nil.
	At problem.Position
	// Verify has the demands of signatures.
	Verify []Rule
}

// Rule demands a signature of the modules that it matches.
type Rule struct {
	// Modules has the patterns of the modules.
	Modules []string
	// Trust returns the trust in the signers. It reads files, and is called when a module
	// matches.
	Trust func() (*sign.Trust, error)
	// Signers describes the signers for people.
	Signers Signers
	// At is the position of the rule.
	At problem.Position
}

// Signers are the signers of a rule as pequod.yaml names them: a file with keys, or a file with
// authorities and the identities that they certify.
type Signers struct {
	Key         string          `json:"key,omitempty"`
	TrustedRoot string          `json:"trustedRoot,omitempty"`
	Identities  []sign.Identity `json:"matchOIDCIdentity,omitempty"`
}

// String returns the signers on one line.
func (s Signers) String() string {
	if s.Key != "" {
		return "key " + s.Key
	}
	var all []string
	for _, i := range s.Identities {
		all = append(all, i.Subject+" of "+i.Issuer)
	}
	return strings.Join(all, " or ") + " in " + s.TrustedRoot
}

// Locks compares and records signers, as [github.com/pequod-io/pequod/modules/pin.Pins]
// does.
type Locks interface {
	// Signer returns an error if another signer of the artifact with a digest is locked.
	Signer(ref oci.Ref, signers []string) error
	// Offline reports whether no requests are allowed.
	Offline() bool
	// Recall and Remember keep the digests of signatures.
	Recall(key string) (string, bool)
	Remember(key, value string)
}

// Guard decides by rules. It is safe for concurrent use.
type Guard struct {
	rules []Rules
	locks Locks
}

// New returns a guard. locks may be nil.
func New(rules []Rules, locks Locks) *Guard { return &Guard{rules, locks} }

// Location returns an error if the rules don't allow the module in a place that has no
// signatures, such as the repository github.com/acme/web. name is the reference in
// messages. The error is a [problem.List].
func (g *Guard) Location(name, location string) error {
	if err := g.allowed(name, location); err != nil {
		return err
	}
	if demands := g.Demands(location); len(demands) > 0 {
		return refuse(problem.RuleSignature, demands[0].At, name+": a signature is demanded, which only modules of registries have")
	}
	return nil
}

// allowed returns an error if a list of allowed modules lacks a location.
func (g *Guard) allowed(name, location string) error {
	for _, r := range g.rules {
		if r.Allow != nil && !matches(r.Allow, location) {
			return refuse(problem.RuleAllowed, r.At, name+": not in allow-modules")
		}
	}
	return nil
}

// Demands returns the rules that demand a signature of the modules in a location.
func (g *Guard) Demands(location string) []Rule {
	var found []Rule
	for _, r := range g.rules {
		for _, v := range r.Verify {
			if matches(v.Modules, location) {
				found = append(found, v)
			}
		}
	}
	return found
}

// Statements returns the statements of one type about the artifact with the digest of ref that
// a trusted signer of each rule signed, in a fixed order. One signature satisfies one rule, so
// a statement may have to be signed several times.
func Statements(ctx context.Context, registry sign.Reader, ref oci.Ref, rules []Rule, predicateType string) ([]string, error) {
	bundles, err := sign.Read(ctx, registry, ref)
	if err != nil {
		return nil, err
	}
	var statements []string
	for i, rule := range rules {
		trust, err := rule.Trust()
		if err != nil {
			return nil, err
		}
		var signed []string
		for _, b := range bundles {
			s, err := trust.Verify(b, ref.Digest)
			if err == nil && s.Type == predicateType && (i == 0 || slices.Contains(statements, string(s.JSON))) {
				signed = append(signed, string(s.JSON))
			}
		}
		statements = signed
	}
	slices.Sort(statements)
	return slices.Compact(statements), nil
}

// refuse returns an error about a rule.
func refuse(rule string, at problem.Position, message string) error {
	return problem.List{{Position: at, Rule: rule, Message: message}}
}

// Location returns the name that patterns match: HOST/REPOSITORY of an artifact of a
// registry. A host has several spellings, and a rule must not be avoided by another one.
func Location(host, repository string) string {
	host = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), ":443"), ".")
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		host = "docker.io"
	}
	return path.Join(host, repository)
}

// CheckPattern returns an error if a pattern can't match any module.
func CheckPattern(pattern string) error {
	if pattern == "" || strings.Contains(pattern, "://") || strings.ContainsAny(pattern, "@ \t") {
		return fmt.Errorf("%q is not a pattern of modules; want one like ghcr.io/acme/*", pattern)
	}
	return nil
}

// matches reports whether one of the patterns matches a location. In a pattern, * stands
// for any text without a slash, and ** for any text.
func matches(patterns []string, location string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		expression := regexp.QuoteMeta(pattern)
		expression = strings.ReplaceAll(expression, `\*\*`, `.*`)
		expression = strings.ReplaceAll(expression, `\*`, `[^/]*`)
		return regexp.MustCompile("^" + expression + "$").MatchString(location)
	})
}

// Registry reads the artifacts of registries and their signatures, as [oci.Client] does.
type Registry interface {
	sign.Reader
	Tags(ctx context.Context, ref oci.Ref) ([]string, error)
}

// Artifacts returns a reader of the artifacts of a that the rules allow. registry has their
// signatures. Its errors about rules are a [problem.List].
func (g *Guard) Artifacts(a oci.Artifacts, registry Registry) oci.Artifacts {
	return reader{g, a, registry, g.allowed}
}

// Signed returns a reader of the artifacts of a that are signed as the rules demand, whether
// the lists of allowed modules have them or not. It is otherwise like [Guard.Artifacts].
func (g *Guard) Signed(a oci.Artifacts, registry Registry) oci.Artifacts {
	return reader{g, a, registry, func(string, string) error { return nil }}
}

// reader reads the artifacts that the rules allow.
type reader struct {
	*Guard
	artifacts oci.Artifacts
	registry  Registry
	// allow returns an error if an artifact must not be read, by its name and location.
	allow func(name, location string) error
}

// Tags implements [oci.Artifacts].
func (r reader) Tags(ctx context.Context, ref oci.Ref) ([]string, error) {
	if ref.Kind == oci.Registry {
		if err := r.allow(ref.String(), Location(ref.Host, ref.Repository)); err != nil {
			return nil, err
		}
	}
	return r.artifacts.Tags(ctx, ref)
}

// Image implements [oci.Artifacts]. The manifest is read, and no content.
func (r reader) Image(ctx context.Context, ref oci.Ref) (v1.Image, error) {
	if ref.Kind != oci.Registry {
		return r.artifacts.Image(ctx, ref)
	}
	location := Location(ref.Host, ref.Repository)
	if err := r.allow(ref.String(), location); err != nil {
		return nil, err
	}
	img, err := r.artifacts.Image(ctx, ref)
	if err != nil {
		return nil, err
	}
	demands := r.Demands(location)
	if len(demands) == 0 {
		return img, nil
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	ref.Digest = digest.String()
	statements, err := r.Verify(ctx, r.registry, ref, demands)
	if err != nil {
		return nil, err
	}
	if r.locks != nil {
		var signers []string
		for _, s := range statements {
			signers = append(signers, s.Signer.String())
		}
		if err := r.locks.Signer(ref, signers); err != nil {
			return nil, err
		}
	}
	return img, nil
}

// Verify returns the statements with which the artifact with the digest of ref is signed as
// the rules demand. It returns a [problem.List] if it is not.
func (g *Guard) Verify(ctx context.Context, registry sign.Reader, ref oci.Ref, demands []Rule) ([]sign.Statement, error) {
	// Signatures that were verified before are in the cache. They are verified again.
	key := "signatures " + ref.Place().String() + "@" + ref.Digest
	if known := g.recall(ctx, registry, ref, key); len(known) > 0 {
		if found, err := check(ref, known, demands); err == nil {
			return found, nil
		}
	}
	if g.locks != nil && g.locks.Offline() {
		return nil, &oci.Error{
			Cause: oci.Unavailable, Ref: ref.String(),
			Message: "the signature is not in the cache, and --offline allows no requests",
			Hint:    "run the command once without --offline",
		}
	}
	bundles, err := sign.Read(ctx, registry, ref)
	if err != nil {
		return nil, err
	}
	found, err := check(ref, bundles, demands)
	if err != nil {
		return nil, err
	}
	if g.locks != nil {
		var digests []string
		for _, s := range found {
			digests = append(digests, s.Bundle)
		}
		g.locks.Remember(key, strings.Join(digests, " "))
	}
	return found, nil
}

// recall returns the signatures that the cache remembers. Those that can't be read any
// more are left out.
func (g *Guard) recall(ctx context.Context, registry sign.Reader, ref oci.Ref, key string) []sign.Bundle {
	if g.locks == nil {
		return nil
	}
	digests, _ := g.locks.Recall(key)
	var known []sign.Bundle
	for _, digest := range strings.Fields(digests) {
		if b, err := sign.ReadBundle(ctx, registry, ref, digest); err == nil {
			known = append(known, *b)
		}
	}
	return known
}

// check returns the statements that satisfy the demands, at least one for each of them.
func check(ref oci.Ref, bundles []sign.Bundle, demands []Rule) ([]sign.Statement, error) {
	var all []sign.Statement
	for _, rule := range demands {
		trust, err := rule.Trust()
		if err != nil {
			return nil, err
		}
		found, err := trust.Check(ref, bundles, sign.SignatureType)
		if err != nil {
			return nil, refuse(problem.RuleSignature, rule.At, err.Error())
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b sign.Statement) int {
		return cmp.Or(strings.Compare(a.Signer.String(), b.Signer.String()), strings.Compare(a.Bundle, b.Bundle))
	})
	return slices.CompactFunc(all, func(a, b sign.Statement) bool { return a.Signer == b.Signer }), nil
}
