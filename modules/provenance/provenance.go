// Package provenance describes the origin of bundles.
//
// [Build.Statement] returns the description: an in-toto statement with a predicate of
// SLSA, whose subject is the digest of the bundle. It names the repository and the commit
// of the instances, every module with its digest, the version of this program and all
// parameters, so that others can render the same bundle again. [Image] packs it into an
// artifact that refers to the bundle, and [Read] reads it back, also from an artifact with
// a signature. [Build.Predicate] is for callers that sign the statement.
//
// Statements are deterministic: two machines that make the same bundle make the same
// statement. They have no times and no names of files outside of the repository.
//
// The package verifies no signatures, and knows neither registries nor modules.
package provenance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pequod-io/pequod/internal/jsonlimit"
	"github.com/pequod-io/pequod/internal/ociimage"
)

// The types of statements, as in the specifications of in-toto and SLSA.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://slsa.dev/provenance/v1"
	// BuildType names the meaning of the parameters and dependencies. Another meaning
	// needs another type.
	BuildType = "https://github.com/pequod-io/pequod/blob/main/docs/distribution.md#provenance-v1"
	// BuilderID names this program, wherever it runs.
	BuilderID = "https://github.com/pequod-io/pequod"
)

// The types of artifacts with statements.
const (
	// ArtifactType is that of a statement as it is.
	ArtifactType = "application/vnd.in-toto+json"
	// SignedArtifactType is that of a statement in a bundle of Sigstore, which has a
	// signature, too.
	SignedArtifactType = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// annotationPredicate is the annotation with the type of the predicate. Registries list
// annotations, so a reader can choose among the referrers of a bundle.
const annotationPredicate = "in-toto.io/predicate-type"

// maxSize limits a statement in bytes. One of a large repository has some KiB.
const maxSize = 4 << 20

// The roles of dependencies.
const (
	// Source is the repository with the instances.
	Source = "source"
	// Module is a module that a parameter or a Transform names.
	Module = "module"
	// Import is a module that others import.
	Import = "import"
)

// The names of digests, as in in-toto's specification of digest sets.
const (
	// SHA256 is the digest of a manifest for modules of registries, and the digest in
	// graphs for others.
	SHA256 = "sha256"
	// GitCommit is the name of a commit.
	GitCommit = "gitCommit"
)

// Resource is something with a digest.
type Resource struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations *Annotations      `json:"annotations,omitempty"`
}

// Annotations are the annotations of a dependency.
type Annotations struct {
	Role string `json:"role"`
	// Dirty is set if there were uncommitted changes, so the digest of the commit doesn't
	// determine the files.
	Dirty bool `json:"uncommittedChanges,omitempty"`
}

// Role returns the role of a dependency, or "".
func (r Resource) Role() string {
	if r.Annotations == nil {
		return ""
	}
	return r.Annotations.Role
}

// Build describes how a bundle was made.
type Build struct {
	// Parameters are the flags that decide about the content of the bundle. Names of
	// files are relative to the root of the repository.
	Parameters map[string]any
	// Dependencies are the repository and all modules, in a fixed order.
	Dependencies []Resource
	// Version is the version of this program.
	Version string
}

// statement, predicate and so on are the JSON forms.
type (
	statement struct {
		Type          string     `json:"_type"`
		Subject       []Resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     predicate  `json:"predicate"`
	}
	predicate struct {
		BuildDefinition definition `json:"buildDefinition"`
		RunDetails      details    `json:"runDetails"`
	}
	definition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		ResolvedDependencies []Resource     `json:"resolvedDependencies,omitempty"`
	}
	details struct {
		Builder builder `json:"builder"`
	}
	builder struct {
		ID      string            `json:"id"`
		Version map[string]string `json:"version"`
	}
)

// program is the key of the version of this program.
const program = "pequod"

// Statement returns the statement about the bundle with a digest.
func (b Build) Statement(bundle v1.Hash) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(statement{
		Type:          StatementType,
		Subject:       []Resource{{Digest: map[string]string{bundle.Algorithm: bundle.Hex}}},
		PredicateType: PredicateType,
		Predicate:     b.predicate(),
	})
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// Predicate returns the content of the statement, whose type is [PredicateType].
func (b Build) Predicate() (json.RawMessage, error) { return json.Marshal(b.predicate()) }

func (b Build) predicate() predicate {
	return predicate{
		BuildDefinition: definition{BuildType: BuildType, ExternalParameters: b.Parameters, ResolvedDependencies: b.Dependencies},
		RunDetails:      details{builder{ID: BuilderID, Version: map[string]string{program: b.Version}}},
	}
}

// Image returns the artifact of a statement about a bundle. artifactType is [ArtifactType],
// or the type of the form in which data has the statement.
func Image(bundle *v1.Descriptor, artifactType string, data []byte) (v1.Image, error) {
	return ociimage.New(ociimage.Artifact{
		Type:        artifactType,
		Subject:     bundle,
		Config:      ociimage.Blob{MediaType: "application/vnd.oci.empty.v1+json", Data: []byte(ociimage.EmptyJSON)},
		Layers:      []ociimage.Blob{{MediaType: types.MediaType(artifactType), Data: data}},
		Annotations: map[string]string{annotationPredicate: PredicateType},
	})
}

// ForeignError is an artifact, or a statement, that is no provenance of a bundle by this
// program. Others may attach any artifact to a bundle.
type ForeignError struct{ Defect string }

func (e *ForeignError) Error() string { return "not the provenance of a bundle: " + e.Defect }

// foreign returns a ForeignError.
func foreign(format string, args ...any) error {
	return &ForeignError{fmt.Sprintf(format, args...)}
}

// Read returns the description of the bundle with a digest in an artifact that [Image]
// made. It verifies no signature. Read returns a [ForeignError] for artifacts that are
// something else.
func Read(img v1.Image, bundle v1.Hash) (*Build, error) {
	manifest, err := img.Manifest()
	switch {
	case err != nil:
		return nil, err
	case manifest.Subject == nil || manifest.Subject.Digest != bundle:
		return nil, foreign("it is about another artifact")
	case len(manifest.Layers) != 1:
		return nil, foreign("it has %d layers, want 1", len(manifest.Layers))
	case manifest.Layers[0].Size > maxSize:
		return nil, foreign("it is larger than %d MiB", maxSize>>20)
	}
	layer, err := img.LayerByDigest(manifest.Layers[0].Digest)
	if err != nil {
		return nil, err
	}
	r, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if manifest.ArtifactType == SignedArtifactType {
		if data, err = payload(data); err != nil {
			return nil, err
		}
	}
	return Parse(data, bundle)
}

// payload returns the statement in a bundle of Sigstore.
func payload(data []byte) ([]byte, error) {
	var signed struct {
		Envelope struct {
			PayloadType string `json:"payloadType"`
			Payload     []byte `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	if err := decode(data, &signed); err != nil {
		return nil, foreign("reading the signature: %v", err)
	}
	if signed.Envelope.PayloadType != ArtifactType {
		return nil, foreign("it signs no statement")
	}
	return signed.Envelope.Payload, nil
}

// decode decodes JSON unless it has more values than a statement needs.
func decode(data []byte, into any) error {
	if err := jsonlimit.Check(data, jsonlimit.Message); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Parse reads a statement about the bundle with a digest. It returns a [ForeignError] for
// others.
func Parse(data []byte, bundle v1.Hash) (*Build, error) {
	var s statement
	if err := decode(data, &s); err != nil {
		return nil, foreign("%v", err)
	}
	made := s.Predicate.BuildDefinition
	switch {
	case s.Type != StatementType || s.PredicateType != PredicateType:
		return nil, foreign("the statement has type %q and the predicate %q", s.Type, s.PredicateType)
	case made.BuildType != BuildType:
		return nil, foreign("the build type is %q", made.BuildType)
	case len(s.Subject) != 1 || s.Subject[0].Digest[bundle.Algorithm] != bundle.Hex:
		return nil, foreign("the statement is about another artifact")
	}
	return &Build{Parameters: made.ExternalParameters, Dependencies: made.ResolvedDependencies, Version: s.Predicate.RunDetails.Builder.Version[program]}, nil
}
