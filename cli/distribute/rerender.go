package distribute

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/provenance"
	"github.com/pequod-io/pequod/modules/trust"
)

// rerender renders the instances of a bundle again and compares the result with the
// bundle. ref has the digest of img. The instances, Transforms and local modules are those
// of the working directory, which must be a checkout of the commit that the provenance
// names; all other modules are loaded by the digests that it names. Registries and limits
// are the user's choice, not that of the statement.
//
// A statement is a claim, and may be hostile: it chooses the flags, so only flags that
// decide about the content are set, and only with files of the repository.
func (o *verifyOptions) rerender(ctx context.Context, env command.Env, b *strings.Builder, client *oci.Client, ref oci.Ref, img v1.Image, demands []trust.Rule) error {
	made, err := provenanceOf(ctx, client, ref, demands)
	if err != nil {
		return err
	}
	base, wd, err := files.Base()
	if err != nil {
		return err
	}
	at := checkout{base, wd}
	if err := checkSource(ctx, env, made); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	if this := version.Program(); made.Version != this {
		fmt.Fprintf(env.Err, "note: the bundle was made by pequod %s; this is %s, which may render something else\n", source.Escape(made.Version, ""), this)
	}
	// The notes about roles and the like are those of push.
	var notes bytes.Buffer
	quiet := env
	quiet.Err = &notes
	cmd, again := newPush(quiet)
	if err := at.setParameters(cmd.Flags(), made.Parameters); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	for _, name := range []string{"registry-ca-file", "registry-plain-http", "eval-timeout", "eval-memory"} {
		if f := o.flags.Lookup(name); f != nil {
			if err := cmd.Flags().Set(name, f.Value.String()); err != nil {
				return err
			}
		}
	}
	again.Fix(lockOf(made))
	parts, err := again.parts(ctx, quiet)
	if err != nil {
		fmt.Fprint(env.Err, notes.String())
		return err
	}
	rendered, err := sameOrigin(img, parts)
	if err != nil {
		return err
	}
	if err := compareBundles(env, ref, img, rendered); err != nil {
		return err
	}
	used := at.modules(again.Modules.Opened(), again.digests)
	if err := compareModules(ref, made.Dependencies, used); err != nil {
		return err
	}
	printRerendered(b, made)
	return nil
}

// checkSource returns an error unless the commit from which a bundle was made is checked
// out in the working directory, without changes.
func checkSource(ctx context.Context, env command.Env, made *provenance.Build) error {
	stated, ok := made.Source()
	if !ok {
		fmt.Fprintln(env.Err, "note: the provenance names no commit; the files of the working directory are used")
		return nil
	}
	commit, err := files.HeadCommit(ctx)
	if err != nil {
		return err
	}
	want := source.Escape(stated.Digest[provenance.GitCommit], "")
	repository := cmp.Or(source.Escape(strings.TrimPrefix(stated.URI, "git+"), ""), "its repository")
	switch {
	case commit == nil:
		return fmt.Errorf("it was made from commit %s of %s; run the command in a checkout of it", want, repository)
	case commit.ID != want:
		return fmt.Errorf("it was made from commit %s of %s, and %s is checked out; run 'git checkout %s'", want, repository, commit.ID, want)
	case stated.Annotations.Dirty:
		fmt.Fprintln(env.Err, "note: the bundle was made with uncommitted changes, which the commit lacks")
	case commit.Change != "":
		return fmt.Errorf("uncommitted changes, such as %q; it was made from commit %s without them", source.Escape(commit.Change, ""), want)
	}
	return nil
}

// sameOrigin packs the directories as the bundle is packed, with the same annotations and
// times.
func sameOrigin(img v1.Image, parts []bundle.Part) (v1.Image, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	// Without a valid time, the digests differ, and the files need not.
	created, _ := time.Parse(time.RFC3339, manifest.Annotations[bundle.AnnotationCreated])
	return bundle.New(parts, bundle.Options{
		Created: created, Revision: manifest.Annotations[bundle.AnnotationRevision], Source: manifest.Annotations[bundle.AnnotationSource],
	})
}

// compareModules returns an error if other modules were used than those that the provenance
// names.
func compareModules(ref oci.Ref, stated, used []provenance.Resource) error {
	var causes []error
	for _, u := range used {
		i := slices.IndexFunc(stated, func(s provenance.Resource) bool {
			return s.Role() == u.Role() && s.Name == u.Name && s.URI == u.URI
		})
		name := cmp.Or(u.URI, u.Name)
		switch {
		case i < 0:
			causes = append(causes, fmt.Errorf("%s: the provenance does not name the module %s, which was used", ref, name))
		case len(u.Digest) > 0 && !equalDigests(u.Digest, stated[i].Digest):
			causes = append(causes, fmt.Errorf("%s: the module %s has %s, and the provenance names %s", ref, name, digestText(u.Digest), digestText(stated[i].Digest)))
		}
	}
	if len(causes) > 0 {
		return command.ExitError{Code: command.ExitNo, Causes: causes}
	}
	return nil
}

// printRerendered prints that the bundle is proved, and from what.
func printRerendered(b *strings.Builder, made *provenance.Build) {
	text := "again, with the same result"
	if stated, ok := made.Source(); ok {
		text += ", from commit " + source.Escape(stated.Digest[provenance.GitCommit], "")
		if stated.URI != "" {
			text += " of " + source.Escape(strings.TrimPrefix(stated.URI, "git+"), "")
		}
	}
	line(b, "Rendered", text)
	for _, m := range made.Dependencies {
		if m.Role() != provenance.Source {
			line(b, "Module", strings.TrimSuffix(source.Escape(cmp.Or(m.URI, m.Name), "")+" "+digestText(m.Digest), " "+noDigest))
		}
	}
}
