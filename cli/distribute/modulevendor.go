package distribute

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/vendored"
)

// moduleVendorOptions are the flags of module vendor.
type moduleVendorOptions struct {
	platform.ModuleFlags
	// dir is --dir, or "" for the directory that the other commands read.
	dir string
	// check compares only.
	check bool
}

// newModuleVendorCommand returns the command "module vendor".
func newModuleVendorCommand(env command.Env) *cobra.Command {
	o := &moduleVendorOptions{}
	cmd := &cobra.Command{
		Use:   "vendor",
		Short: "Copy the modules of pequod.lock into the repository",
		Long: `Write all modules that pequod.lock names to the directory pequod.vendor beside it, and
remove those that it does not name. Commit the directory. All commands then load the
modules from it: they need neither a network nor a cache. Its files are compared with
pequod.lock whenever they are read; a changed file is an error.

The directory is a cache of CUE. With CUE_CACHE_DIR set to it, cue finds the modules, also
with CUE_REGISTRY=none.

The content depends on pequod.lock only. Modules that the directory has are not fetched
again. Files that were added by others are kept. With --check nothing is written, and the
exit code is 1 if the directory does not have exactly these modules.`,
		Example: `  pequod module vendor
  pequod module vendor --check
  CUE_CACHE_DIR=pequod.vendor CUE_REGISTRY=none cue vet ./shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.ModuleFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.dir, "dir", "", "another directory, which the other commands do not read (default: pequod.vendor beside pequod.lock)")
	fl.BoolVar(&o.check, "check", false, "write nothing; exit with 1 if the directory is not up to date")
	// Only modules of the lock are loaded, with or without the flag, and none is evaluated.
	for _, name := range []string{"locked", "eval-timeout", "eval-memory"} {
		command.Must(fl.MarkHidden(name))
	}
	command.Must(cmd.MarkFlagDirname("dir"))
	return cmd
}

// run compares the directory with the lock, and writes it.
func (o *moduleVendorOptions) run(ctx context.Context, env command.Env) error {
	o.IgnoreVendored()
	l, name, err := platform.ReadLock(ctx)
	if err != nil {
		return err
	}
	if l == nil {
		return fmt.Errorf("there is no %s; write it with 'pequod module lock'", name)
	}
	dir := o.dir
	if dir == "" {
		dir = filepath.Join(filepath.Dir(name), vendored.DirName)
	}
	if o.check {
		return checkVendored(env, dir, l)
	}
	changes, err := vendored.Write(ctx, dir, l, o.Locked())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return command.FileError(transform.Refused(err))
	}
	for _, m := range changes.Added {
		if _, err := fmt.Fprintf(env.Out, "+ %s\n", m); err != nil {
			return command.OutputError(err)
		}
	}
	for _, m := range changes.Removed {
		if _, err := fmt.Fprintf(env.Out, "- %s\n", m); err != nil {
			return command.OutputError(err)
		}
	}
	done := "written"
	if len(changes.Added)+len(changes.Removed) == 0 {
		done = "is up to date"
	}
	fmt.Fprintf(env.Err, "%s %s\n", dir, done)
	noteRevisions(env, l)
	return nil
}

// noteRevisions tells the user which modules of a lock are left out.
func noteRevisions(env command.Env, l *lock.File) {
	for _, m := range l.Modules {
		if m.Commit != "" {
			fmt.Fprintf(env.Err, "note: %s is left out: only modules of registries have the form that CUE reads\n", m.Name())
		}
	}
}

// checkVendored compares a directory with a lock.
func checkVendored(env command.Env, dir string, l *lock.File) error {
	tree, err := vendored.Open(dir, l)
	switch {
	case err != nil:
		return err
	case tree == nil && len(l.Modules) > 0:
		err = errors.New(dir + " does not exist; run 'pequod module vendor'")
	case tree != nil:
		err = tree.Check()
	}
	if err != nil {
		return refused(err)
	}
	fmt.Fprintf(env.Err, "%s is up to date: %s\n", dir, source.Count(len(l.Modules), "module"))
	return nil
}
