package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
)

// parallel is the number of artifacts whose descriptions are read at the same time.
const parallel = 8

// entry is a version of a module in the output of module list. Its fields only grow.
type entry struct {
	Ref     string `json:"ref"`
	Module  string `json:"module"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	// Size is the size of the archive in bytes.
	Size   int64  `json:"size"`
	Commit string `json:"commit,omitempty"`
	*artifact.Metadata
}

// versions returns the versions of a module, the newest first, or only the newest. Tags
// that are no versions, and versions that are no modules, are left out: repositories
// also have signatures and charts.
func versions(ctx context.Context, client *oci.Client, place oci.Ref, newest bool) ([]entry, error) {
	tags, err := client.Tags(ctx, place)
	if err != nil {
		return nil, err
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return semver.Canonical(tag) != tag })
	slices.SortFunc(tags, func(a, b string) int { return oci.CompareVersions(b, a) })
	if newest {
		tags = latest(tags)
	}
	entries := make([]*entry, len(tags))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, tag := range tags {
		group.Go(func() error {
			ref := place
			ref.Tag = tag
			var err error
			entries[i], err = inspect(ctx, client, ref)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var found []entry
	for _, e := range entries {
		if e != nil {
			found = append(found, *e)
		}
	}
	return found, nil
}

// latest returns the newest of sorted versions: the newest release, or the newest
// prerelease if there is no release.
func latest(tags []string) []string {
	for _, tag := range tags {
		if semver.Prerelease(tag) == "" {
			return []string{tag}
		}
	}
	return tags[:min(1, len(tags))]
}

// inspect reads the description of an artifact. It returns nil if it is no module.
func inspect(ctx context.Context, client *oci.Client, ref oci.Ref) (*entry, error) {
	img, err := client.Image(ctx, ref)
	if oci.Causes(err, oci.WrongType) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	info, err := artifact.Inspect(img)
	var not *artifact.NotModuleError
	if errors.As(err, &not) {
		return nil, nil
	} else if err != nil {
		return nil, transform.Refused(oci.About(ref, err))
	}
	return &entry{
		Ref: ref.String(), Module: info.Path, Version: ref.Tag, Digest: info.Digest, Size: info.Size,
		Commit: info.Commit, Metadata: info.Metadata,
	}, nil
}

// namespace returns the newest version of every module in the repositories below place,
// as far as the registry lists them.
func namespace(ctx context.Context, client *oci.Client, place oci.Ref) ([]entry, error) {
	names, err := client.Repositories(ctx, place.Host, place.Repository+"/")
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, name := range names {
		repository := place
		repository.Repository = name
		found, err := versions(ctx, client, repository, true)
		if err != nil && !oci.Causes(err, oci.NotFound) {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// catalogue returns the versions of a module, or the newest versions of the modules of a
// namespace if place is no repository of a module.
func catalogue(ctx context.Context, client *oci.Client, place oci.Ref) (entries []entry, isNamespace bool, err error) {
	entries, err = versions(ctx, client, place, false)
	if len(entries) > 0 || err != nil && !oci.Causes(err, oci.NotFound) {
		return entries, false, err
	}
	if place.Kind == oci.Registry {
		below, belowErr := namespace(ctx, client, place)
		if len(below) > 0 {
			return below, true, belowErr
		}
	}
	if err == nil {
		err = fmt.Errorf("%s: no module", place)
	}
	return nil, false, err
}

// kindsText returns the kinds of a module in one line.
func kindsText(m *artifact.Metadata) string {
	if m == nil || len(m.Kinds) == 0 {
		return "-"
	}
	var kinds []string
	for _, k := range m.Kinds {
		text := k.Kind + "." + k.Group
		if len(k.Versions) > 0 {
			text += " (" + strings.Join(k.Versions, ", ") + ")"
		}
		kinds = append(kinds, text)
	}
	return strings.Join(kinds, ", ")
}
