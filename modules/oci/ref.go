package oci

import (
	"cmp"
	"fmt"
	"net"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// Kind is the kind of place where an artifact is kept.
type Kind int

// The kinds of places.
const (
	// Registry is a repository of a registry: oci://HOST/REPOSITORY.
	Registry Kind = iota
	// Layout is a directory in the format OCI Image Layout: oci-layout:DIR.
	Layout
	// Archive is a tar file of such a directory: FILE.oci.tar.
	Archive
)

// The forms of references.
const (
	registryPrefix = "oci://"
	layoutPrefix   = "oci-layout:"
	archiveSuffix  = ".oci.tar"
)

// Ref refers to an artifact, or to all artifacts of one place if it has neither a
// tag nor a digest.
type Ref struct {
	Kind Kind
	// Host and Repository locate artifacts in a registry. Host has the port.
	Host, Repository string
	// File is the directory of a layout, or the file of an archive.
	File string
	// Tag is the name of the artifact, such as v1.4.0, or "".
	Tag string
	// Digest is the digest of the manifest as sha256:HEX, or "". If both are given,
	// the digest decides and the tag only informs the reader.
	Digest string
}

var (
	tagPattern    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	digestPattern = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	// hostPattern is a name with a dot or a port, localhost, or an address.
	hostPattern = lazyregexp.New(`^(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+:[0-9]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?$`)
	// repositoryPattern is that of OCI's distribution specification.
	repositoryPattern = lazyregexp.New(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
)

// IsRef reports whether s has the form of a reference to an artifact, which
// [ParseRef] then parses. Every other text is something else, such as a directory.
func IsRef(s string) bool {
	if strings.HasPrefix(s, registryPrefix) || strings.HasPrefix(s, layoutPrefix) {
		return true
	}
	s, _, _ = strings.Cut(s, "@")
	s, _ = cutTag(s)
	return strings.HasSuffix(s, archiveSuffix)
}

// ParseRef parses a reference:
//
//	oci://HOST/REPOSITORY[:TAG][@sha256:HEX]
//	oci-layout:DIR[:TAG][@sha256:HEX]
//	FILE.oci.tar[:TAG][@sha256:HEX]
func ParseRef(s string) (Ref, error) {
	ref, err := parseRef(s)
	if err != nil {
		return Ref{}, fmt.Errorf("%s: %w", Redact(s), err)
	}
	return ref, nil
}

func parseRef(s string) (Ref, error) {
	var ref Ref
	if at := strings.LastIndex(s, "@"); at >= 0 && strings.Contains(s[at:], ":") && !strings.Contains(s[at:], "/") {
		s, ref.Digest = s[:at], s[at+1:]
		if !digestPattern().MatchString(ref.Digest) {
			return ref, fmt.Errorf("%q is not a digest: want sha256: and 64 hex digits", ref.Digest)
		}
	}
	rest, isRegistry := strings.CutPrefix(s, registryPrefix)
	if isRegistry {
		return ref.parseRepository(rest)
	}
	rest, isLayout := strings.CutPrefix(s, layoutPrefix)
	ref.File, ref.Tag = cutTag(rest)
	ref.Kind = Layout
	if !isLayout {
		ref.Kind = Archive
	}
	switch {
	case ref.File == "":
		return ref, fmt.Errorf("no directory; want %sDIR", layoutPrefix)
	case !isLayout && !strings.HasSuffix(ref.File, archiveSuffix):
		return ref, fmt.Errorf("not a reference to an artifact; want %sHOST/REPOSITORY:TAG, %sDIR:TAG or FILE%s", registryPrefix, layoutPrefix, archiveSuffix)
	}
	return ref, nil
}

// parseRepository sets the fields of a reference to a registry. The host must be
// explicit: there is no registry that names without a host belong to.
func (r Ref) parseRepository(s string) (Ref, error) {
	if strings.Contains(s, "@") {
		return r, fmt.Errorf("credentials don't belong in a reference: use 'docker login' or a credential helper")
	}
	host, rest, _ := strings.Cut(s, "/")
	r.Host = host
	r.Repository, r.Tag = cutTag(rest)
	if !hostPattern().MatchString(host) {
		return r, fmt.Errorf("%q is not the host of a registry; want %sHOST/REPOSITORY:TAG", host, registryPrefix)
	}
	if r.Repository == "" {
		return r, fmt.Errorf("no repository; want %s%s/REPOSITORY:TAG", registryPrefix, host)
	}
	if !repositoryPattern().MatchString(r.Repository) {
		return r, fmt.Errorf("%q is not a repository: use lower-case letters, digits and -, _, . and / in between", rest)
	}
	return r, nil
}

// cutTag cuts the tag from the end of a name. A colon that no tag follows belongs to
// the name.
func cutTag(s string) (rest, tag string) {
	if i := strings.LastIndex(s, ":"); i >= 0 && tagPattern().MatchString(s[i+1:]) {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// Place returns the reference without tag and digest.
func (r Ref) Place() Ref {
	r.Tag, r.Digest = "", ""
	return r
}

// String returns the reference in the form that [ParseRef] reads.
func (r Ref) String() string {
	var s string
	switch r.Kind {
	case Registry:
		s = registryPrefix + path.Join(r.Host, r.Repository)
	case Layout:
		s = layoutPrefix + r.File
	case Archive:
		s = r.File
	}
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// Redact returns a reference without credentials that a user may have written into
// it, for messages about references that [ParseRef] refuses.
func Redact(s string) string {
	prefix, rest, found := strings.Cut(s, "://")
	if !found {
		return s
	}
	authority, after, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		return prefix + "://REDACTED@" + strings.TrimSuffix(authority[at+1:]+"/"+after, "/")
	}
	return s
}

// loopback reports whether host, with or without a port, is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// shown returns the name of the host as users write it.
func shown(host string) string {
	return cmp.Or(map[string]string{name.DefaultRegistry: "docker.io"}[host], host)
}
