package distribute

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
)

// newPullCommand returns the command "module pull".
func newPullCommand(env command.Env) *cobra.Command {
	var registry platform.RegistryFlags
	cmd := &cobra.Command{
		Use:   "pull REF DIR",
		Short: "Fetch a published module into a directory",
		Long: `Fetch a published module and write its files to a directory, which must not exist or be
empty. The directory appears when all files are written.

It prints the reference with the digest. Rendering needs no pull: -p takes the same
references.`,
		Example: `  pequod module pull oci://ghcr.io/acme/web-shop:v1.4.0 ./web-shop`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := oci.ParseRef(args[0])
			if err != nil {
				return err
			}
			allowed, err := registry.Allowed()
			if err != nil {
				return err
			}
			return pull(cmd.Context(), env, allowed, ref, args[1])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	registry.AddFlags(cmd)
	return cmd
}

// pull writes the files of a module to dir.
func pull(ctx context.Context, env command.Env, artifacts oci.Artifacts, ref oci.Ref, dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s: not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return command.FileError(err)
	}
	img, err := artifacts.Image(ctx, ref)
	if err != nil {
		return transform.Refused(err)
	}
	info, files, err := artifact.Open(img)
	if err != nil {
		return transform.Refused(oci.About(ref, err))
	}
	if err := writeFiles(files, dir); err != nil {
		return command.FileError(err)
	}
	return printPinned(env, ref, info)
}

// writeFiles copies files to dir. It writes to a directory beside dir and renames that,
// so that dir is never half written.
func writeFiles(files fs.FS, dir string) error {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging) // after the renaming, there is none
	if err := errors.Join(copyFiles(files, staging), os.Chmod(staging, 0o755)); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is empty
		return err
	}
	return os.Rename(staging, dir)
}

// copyFiles copies files to an existing directory. A module has many small files, and half
// of the time goes into their creation, so it uses all processors.
func copyFiles(files fs.FS, dir string) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err != nil || e.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o755))
		}
		group.Go(func() error {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			return os.WriteFile(to, data, 0o644)
		})
		return nil
	})
	return errors.Join(err, group.Wait())
}
