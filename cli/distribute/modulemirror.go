package distribute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cuelang.org/go/mod/module"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
)

// mirrorOptions are the flags of module mirror.
type mirrorOptions struct {
	platform.RegistryFlags
	// allVersions copies all tags of the source, and locked all modules of pequod.lock.
	allVersions, locked bool
	// force is consent to the replacement of other artifacts.
	force bool
}

// newMirrorCommand returns the command "module mirror".
func newMirrorCommand(env command.Env) *cobra.Command {
	o := &mirrorOptions{}
	cmd := &cobra.Command{
		Use:   "mirror [SRC] DST",
		Short: "Copy modules and bundles with their signatures to another registry",
		Long: `Copy a module or a bundle, and everything that refers to it: signatures, provenance and
other referrers, those that refer to these, and what older versions of cosign keep under
tags. All bytes, and so all digests, stay the same. SRC and DST are oci://HOST/REPOSITORY:TAG,
oci-layout:DIR:TAG or FILE.oci.tar:TAG. Without a tag, the copy has that of SRC.

With --all-versions, all tags of SRC are copied. With --lock, all modules that pequod.lock
names are, by their digests. DST then is the beginning of the repositories, or the directory
of the layouts: the copy of example.com/web@v1.4.0 is DST/example.com/web:v1.4.0, where cue
finds it with CUE_REGISTRY=HOST/PREFIX. With --lock, SRC is optional; it is such a copy.

What DST has is not copied again. A tag with another digest is refused: use --force to
replace it. A tag is written after everything that refers to the artifact. The references
with the digests are printed on stdout.`,
		Example: `  pequod module mirror oci://ghcr.io/acme/web:v1.4.0 oci://registry.internal/acme/web
  pequod module mirror oci://ghcr.io/acme/web oci-layout:web --all-versions

  # Carry all modules of a repository to a network without a connection
  pequod module mirror --lock oci-layout:modules
  pequod module mirror --lock oci-layout:modules oci://registry.internal/mirror`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args) },
	}
	o.AddFlags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&o.allVersions, "all-versions", false, "copy all tags of SRC")
	fl.BoolVar(&o.locked, "lock", false, "copy all modules of pequod.lock")
	fl.BoolVar(&o.force, "force", false, "replace other artifacts with the same tags")
	cmd.MarkFlagsMutuallyExclusive("all-versions", "lock")
	return cmd
}

// mirrored is an artifact to copy.
type mirrored struct{ from, to oci.Ref }

// run copies the artifacts, one after the other.
func (o *mirrorOptions) run(ctx context.Context, env command.Env, args []string) error {
	refs := make([]oci.Ref, len(args))
	for i, arg := range args {
		var err error
		if refs[i], err = oci.ParseRef(arg); err != nil {
			return err
		}
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	all, err := o.artifacts(ctx, env, client, refs)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.to.Kind != oci.Registry {
			if err := os.MkdirAll(filepath.Dir(m.to.File), 0o755); err != nil {
				return command.FileError(err)
			}
		}
		copied, err := client.Copy(ctx, m.from, m.to, o.force)
		if exists := (*oci.ExistsError)(nil); errors.As(err, &exists) {
			return refused(fmt.Errorf("%w; copy it to another tag, or replace it with --force", err))
		}
		if err != nil {
			return transform.Refused(err)
		}
		done := "copied"
		if copied.Unchanged {
			done = "unchanged:"
		}
		fmt.Fprintf(env.Err, "%s %s, with %s\n", done, m.from, source.Count(copied.Attached, "referrer"))
		if _, err := fmt.Fprintln(env.Out, copied.Ref); err != nil {
			return command.OutputError(err)
		}
	}
	return nil
}

// artifacts returns what is to be copied.
func (o *mirrorOptions) artifacts(ctx context.Context, env command.Env, client *oci.Client, refs []oci.Ref) ([]mirrored, error) {
	to := refs[len(refs)-1]
	switch {
	case to.Digest != "":
		return nil, fmt.Errorf("%s: the digest follows from the source; name the copy by a tag only", to)
	case o.locked:
		return lockedArtifacts(ctx, env, refs)
	case len(refs) != 2:
		return nil, errors.New("want SRC and DST, or --lock and DST")
	case !o.allVersions:
		return []mirrored{{refs[0], to}}, nil
	case refs[0].Tag != "" || refs[0].Digest != "" || to.Tag != "":
		return nil, errors.New("--all-versions copies all tags: want SRC and DST without a tag")
	}
	tags, err := client.Tags(ctx, refs[0])
	if err != nil {
		return nil, err
	}
	var all []mirrored
	for _, tag := range tags {
		// Referrers are copied with their subjects.
		if strings.HasPrefix(tag, "sha256-") {
			continue
		}
		from := refs[0]
		from.Tag = tag
		all = append(all, mirrored{from, to})
	}
	return all, nil
}

// lockedArtifacts returns the modules of pequod.lock. refs are the root of the copy, and
// optionally the root of another copy before it.
func lockedArtifacts(ctx context.Context, env command.Env, refs []oci.Ref) ([]mirrored, error) {
	for _, ref := range refs {
		if ref.Tag != "" || ref.Digest != "" || ref.Kind == oci.Archive {
			return nil, fmt.Errorf("%s: with --lock, want oci://HOST/PREFIX or oci-layout:DIR", ref)
		}
	}
	l, name, err := platform.ReadLock(ctx)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, fmt.Errorf("there is no %s; write it with 'pequod module lock'", name)
	}
	noteRevisions(env, l)
	published := modpath.New(modpath.Options{Registry: os.Getenv("CUE_REGISTRY")})
	var all []mirrored
	seen := map[oci.Ref]bool{}
	for _, m := range l.Modules {
		if m.Commit != "" {
			continue // a revision of a git repository
		}
		to := placeIn(refs[len(refs)-1], m)
		to.Tag = m.Version
		from, err := lockedPlace(published, m)
		if len(refs) == 2 {
			from = placeIn(refs[0], m)
			from.Tag = m.Version
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		}
		if to.Tag == "" {
			to.Tag = "sha256." + strings.TrimPrefix(m.Digest, "sha256:")[:12] // its tag in the source may be moved
		}
		from.Digest = m.Digest
		if !seen[to] {
			all = append(all, mirrored{from, to})
		}
		seen[to] = true
	}
	return all, nil
}

// lockedPlace returns the reference of a module of the lock: the one that the user wrote, or
// the one that CUE's configuration has for its path.
func lockedPlace(published *modpath.Client, m lock.Module) (oci.Ref, error) {
	if oci.IsRef(m.Ref) {
		return oci.ParseRef(m.Ref)
	}
	v, err := module.NewVersion(m.Path, m.Version)
	if err != nil {
		return oci.Ref{}, err
	}
	return published.Place(v)
}

// placeIn returns the place of a module in a copy of all modules.
func placeIn(root oci.Ref, m lock.Module) oci.Ref {
	base, _, _ := strings.Cut(m.Path, "@")
	if root.Kind == oci.Registry {
		root.Repository = path.Join(root.Repository, base)
	} else {
		root.File = filepath.Join(root.File, filepath.FromSlash(base))
	}
	return root
}
