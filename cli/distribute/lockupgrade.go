package distribute

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
)

// printNewer prints a line for each locked reference with a full version that has a newer
// release, with the places to edit. References stay as they are: a version that a user
// wrote is the user's decision.
func (o *moduleLockOptions) printNewer(ctx context.Context, env command.Env, file *lock.File) error {
	client, err := o.Client()
	if err != nil {
		return err
	}
	places, err := o.References(ctx)
	if err != nil {
		return err
	}
	for _, m := range file.Modules {
		ref, err := oci.ParseRef(m.Ref)
		if err != nil || ref.Kind != oci.Registry || !semver.IsValid(ref.Tag) {
			continue
		}
		tags, err := client.Tags(ctx, ref.Place())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // a registry need not let its tags be listed
			fmt.Fprintf(env.Err, "note: newer versions are not known: %v\n", err)
			continue
		}
		newer := newestRelease(ref.Tag, tags)
		if newer == "" {
			continue
		}
		where := "where -p or --policy names it"
		if len(places[m.Ref]) > 0 {
			where = "in " + strings.Join(places[m.Ref], ", ")
		}
		fmt.Fprintf(env.Err, "%s: %s is published; to use it, change the reference %s\n", ref, newer, where)
	}
	return nil
}

// newestRelease returns the newest release in tags with the major version of a version, or
// "" if none is newer.
func newestRelease(version string, tags []string) string {
	var newer []string
	for _, tag := range tags {
		release := semver.IsValid(tag) && semver.Prerelease(tag) == "" && semver.Canonical(tag) == tag
		if release && semver.Major(tag) == semver.Major(version) && semver.Compare(tag, version) > 0 {
			newer = append(newer, tag)
		}
	}
	if len(newer) == 0 {
		return ""
	}
	return slices.MaxFunc(newer, semver.Compare)
}
