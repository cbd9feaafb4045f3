package distribute

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
)

// newBundlePullCommand returns the command "pull".
func newBundlePullCommand(env command.Env) *cobra.Command {
	var artifacts platform.ArtifactFlags
	cmd := &cobra.Command{
		Use:   "pull REF DIR",
		Short: "Write the files of a bundle to a directory",
		Long: `Write the files of a bundle to a new or empty directory. REF has the forms of 'pequod
push', and may have a digest.

Only you can read the directory: a bundle may have Secrets. The reference with the digest
of the bundle is printed on stdout. The directory appears when all files are written.

A bundle that a rule of verify in pequod.yaml matches must be signed; the exit code is 1
otherwise.

Downloads are kept in the cache. With --offline, no request is made, and a tag means the
bundle that it meant when this machine last saw it. pequod.lock has no bundles.`,
		Example: `  pequod pull oci://ghcr.io/shop/deploy:1.4.0 deploy`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			reader, err := artifacts.Artifacts()
			if err != nil {
				return err
			}
			return pullBundle(cmd.Context(), env, reader, args[0], args[1])
		},
	}
	artifacts.AddFlags(cmd)
	return cmd
}

// pullBundle writes the files of a bundle to a directory, all of them or none.
func pullBundle(ctx context.Context, env command.Env, artifacts oci.Artifacts, arg, dir string) error {
	ref, err := oci.ParseRef(arg)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s: the directory is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return command.FileError(err)
	}
	img, err := artifacts.Image(ctx, ref)
	if err != nil {
		return transform.Refused(err)
	}
	packed, err := bundle.Files(img)
	if err != nil {
		return refused(fmt.Errorf("%s: %w", ref, err))
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	if err := writeBundle(dir, packed); err != nil {
		return command.FileError(err)
	}
	ref.Digest = digest.String()
	_, err = fmt.Fprintln(env.Out, ref)
	return command.OutputError(err)
}

// writeBundle writes files to a directory that is empty or doesn't exist. They are written to
// a temporary directory beside it first, which then takes its place.
func writeBundle(dir string, packed []bundle.File) error {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".pequod-pull-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary) // after the renaming, there is none
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return err
	}
	defer root.Close() // every file is closed by then
	for _, f := range packed {
		if err := root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(f.Name, f.Data, 0o644); err != nil {
			return err
		}
	}
	return os.Rename(temporary, dir)
}
