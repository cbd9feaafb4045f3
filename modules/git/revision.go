package git

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/oci"
)

// The prefixes of the full names of tags and branches.
const (
	tags     = "refs/tags/"
	branches = "refs/heads/"
)

// resolve returns the object that a reference means, and its tag if it names one. A tag is
// preferred to a branch with the same name, as git does.
func resolve(ref Ref, advertised *packp.AdvRefs) (plumbing.Hash, string, error) {
	refs, name := advertised.References, ref.Revision
	if name == "" {
		if advertised.Head == nil {
			return plumbing.ZeroHash, "", &oci.Error{Cause: oci.NotFound, Ref: ref.String(), Message: "the repository has no default branch", Hint: "name a revision with ?ref="}
		}
		return *advertised.Head, "", nil
	}
	if ref.Pinned() {
		return commitOf(ref, advertised)
	}
	if h, ok := refs[tags+strings.TrimPrefix(name, tags)]; ok {
		return h, strings.TrimPrefix(name, tags), nil
	}
	if h, ok := refs[branches+strings.TrimPrefix(name, branches)]; ok {
		return h, "", nil
	}
	e := &oci.Error{Cause: oci.NotFound, Ref: ref.String(), Message: fmt.Sprintf("no tag or branch %q; the repository has none", name), Hint: "push it first"}
	if e.Tags = nearest(name, refs); len(e.Tags) > 0 {
		e.Message, e.Hint = fmt.Sprintf("no tag or branch %q", name), "there are: "+strings.Join(e.Tags, ", ")
	}
	return plumbing.ZeroHash, "", e
}

// commitOf returns the commit that a reference names. Servers give commits that are not
// the end of a branch only if they are configured so, as the large hosters are.
func commitOf(ref Ref, advertised *packp.AdvRefs) (plumbing.Hash, string, error) {
	h := plumbing.NewHash(ref.Revision)
	for _, tip := range advertised.References {
		if tip == h {
			return h, "", nil
		}
	}
	for name, tip := range advertised.Peeled {
		if tip == h { // the server gives it with its tag
			return advertised.References[name], "", nil
		}
	}
	if c := advertised.Capabilities; c.Supports(capability.AllowReachableSHA1InWant) || c.Supports("allow-any-sha1-in-want") {
		return h, "", nil
	}
	return h, "", &oci.Error{
		Cause: oci.NotFound, Ref: ref.String(),
		Message: "no tag or branch ends at the commit, and " + ref.host() + " gives no others",
		Hint:    "name a tag or a branch, or set uploadpack.allowReachableSHA1InWant there",
	}
}

// maxNearest limits the number of tags and branches in a message.
const maxNearest = 5

// nearest returns the tags and branches that are most similar to name: a misspelling
// first, then the newest tags, then branches.
func nearest(name string, refs map[string]plumbing.Hash) []string {
	var found, more []string
	for ref := range refs {
		if tag, ok := strings.CutPrefix(ref, tags); ok {
			found = append(found, tag)
		} else if branch, ok := strings.CutPrefix(ref, branches); ok {
			more = append(more, branch)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(oci.CompareVersions(b, a), cmp.Compare(a, b)) })
	slices.Sort(more)
	found = append(found, more...)
	if misspelt := source.Nearest(name, found); misspelt != "" {
		found = append([]string{misspelt}, slices.DeleteFunc(found, func(s string) bool { return s == misspelt })...)
	}
	return found[:min(maxNearest, len(found))]
}
