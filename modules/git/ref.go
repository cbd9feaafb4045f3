package git

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// Prefix is the beginning of references to git repositories.
const Prefix = "git::"

// Ref refers to a directory of a revision of a repository.
type Ref struct {
	// URL is the address of the repository. It has no password.
	URL *url.URL
	// Dir is the directory in the repository, slash-separated; "." is the root.
	Dir string
	// Revision is a tag, a branch or a full commit. "" is the default branch.
	Revision string
}

// commitPattern is the form of a full commit.
var commitPattern = lazyregexp.New(`^[0-9a-f]{40}$`)

// ParseRef parses a reference: git::URL[//DIR][?ref=REVISION]. URL has the scheme https,
// ssh or file, or http for a server on this machine. The prefix can be left out. Errors
// contain no part of the reference that could be a credential.
func ParseRef(s string) (Ref, error) {
	u, err := url.Parse(strings.TrimPrefix(s, Prefix))
	if err != nil {
		// The error of package url repeats parts of the address.
		return Ref{}, errors.New("the address of a git repository is not a valid URL; want " + form)
	}
	shown := Prefix + u.Redacted()
	if _, password := u.User.Password(); password || u.User != nil && u.Scheme != "ssh" {
		u.User = nil
		return Ref{}, fmt.Errorf("%s%s: credentials don't belong in a reference: use netrc or an ssh agent", Prefix, u)
	}
	switch {
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return Ref{}, fmt.Errorf("%s: http is only for servers on this machine; use https", shown)
	case u.Scheme == "file" && u.Host == "", u.Host != "" && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ssh"):
	case strings.Contains(shown, "@"):
		// Such as git::git::https://USER:PASSWORD@HOST, in which package url sees no password.
		return Ref{}, errors.New("the address of a git repository has no known scheme; want " + form)
	default:
		return Ref{}, fmt.Errorf("%s: want %s", shown, form)
	}
	r := Ref{URL: u}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" || len(query["ref"]) != len(query) || len(query) > 1 {
		return Ref{}, fmt.Errorf("%s: the only parameter is ref; want %s", shown, form)
	}
	if r.Revision = query.Get("ref"); r.Revision == "" && query.Has("ref") || strings.ContainsFunc(r.Revision, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }) {
		return Ref{}, fmt.Errorf("%s: ref is not a tag, a branch or a commit", shown)
	}
	u.RawQuery, u.RawPath = "", ""
	repository, dir, _ := strings.Cut(u.Path, "//")
	if r.Dir = path.Clean(dir); path.IsAbs(r.Dir) || r.Dir == ".." || strings.HasPrefix(r.Dir, "../") {
		return Ref{}, fmt.Errorf("%s: %s leads out of the repository", shown, dir)
	}
	u.Path = strings.TrimSuffix(repository, "/")
	if u.Path == "" {
		return Ref{}, fmt.Errorf("%s: no repository; want %s", shown, form)
	}
	return r, nil
}

// form is the form of references, for messages.
const form = "git::https://HOST/REPOSITORY[//DIR][?ref=REVISION], or ssh or file instead of https"

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// String returns the reference in the form that users write.
func (r Ref) String() string {
	u := *r.URL
	if r.Dir != "." {
		u.Path += "//" + r.Dir
	}
	if r.Revision != "" {
		u.RawQuery = "ref=" + strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", "+", "%2B").Replace(r.Revision)
	}
	return Prefix + u.String()
}

// Pinned reports whether the reference names a commit, so that it always means the same
// files.
func (r Ref) Pinned() bool { return commitPattern().MatchString(r.Revision) }

// Name returns the name of the repository. That of DIR/.git is that of DIR.
func (r Ref) Name() string { return path.Base(strings.TrimSuffix(r.URL.Path, ".git")) }

// host returns the host for messages.
func (r Ref) host() string {
	if r.URL.Scheme == "file" {
		return r.URL.Path
	}
	return r.URL.Host
}
