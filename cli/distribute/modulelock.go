package distribute

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/atomicfile"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/lock"
)

// moduleLockOptions are the flags of module lock.
type moduleLockOptions struct {
	// RenderFlags select the platforms and policies that are locked, and the instances to
	// compare.
	input.RenderFlags
	// upgrade asks the registries again for all modules.
	upgrade bool
	// check compares only.
	check bool
	// force writes the file although instances are no longer valid or can't be compared.
	force bool
}

// newModuleLockCommand returns the command "module lock".
func newModuleLockCommand(env command.Env) *cobra.Command {
	o := &moduleLockOptions{}
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Write pequod.lock, the digests of the modules from registries and git",
		Long: `Write pequod.lock, which has the versions and digests of all modules from registries
and git that the platforms of -p, their Transforms and --policy name, and of the modules
that these import. Without -p, the platforms are those in pequod.yaml. The file is beside
pequod.yaml; without one, it is in the root of the git repository, or in the working
directory. Commit it.

If the file exists, all commands load exactly these modules: see --locked. Modules that
are in the file already keep their digests. A tag that has another digest now is an
error. --upgrade accepts it, and moves references without a full version to the newest
one. A reference with a full version stays as it is; if a newer release with the same
major version is published, a line on stderr says which references to change. Layouts,
archives and directories are not locked: they are files of the repository.

The changes are printed. With instances in -f, their impact is printed as well: instances
are rendered with the modules of the old and of the new file, and the output lists those
that change, as that of 'pequod diff --impact' does. The platforms are those of -p as they
are now; with the old file, their references stand for the versions that it has. If an
instance is no longer valid, nothing is written and the exit code is 1. If the old modules
no longer exist, nothing is written and the exit code is 2. --force writes the file in both
cases. Changed instances don't count. -f has no effect if nothing changes, or if there is no
old file.

With --check nothing is written, and the exit code is 1 if the file is not up to date.`,
		Example: `  pequod module lock -p platforms/

  # Move to newer versions, and show what this does to instances
  pequod module lock --upgrade -p platforms/ -f apps/

  # Check that the file is up to date in a pipeline
  pequod module lock --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "instances to compare: a YAML or JSON file, a directory, or - for stdin; can be repeated"
	fl.BoolVar(&o.upgrade, "upgrade", false, "move to the newest versions and accept tags that were moved")
	fl.BoolVar(&o.check, "check", false, "write nothing; exit with 1 if the file is not up to date")
	fl.BoolVar(&o.force, "force", false, "with -f, write the file even if instances are no longer valid or can't be compared")
	command.Must(fl.MarkHidden("locked")) // without effect here
	cmd.MarkFlagsMutuallyExclusive("upgrade", "check")
	cmd.MarkFlagsMutuallyExclusive("upgrade", "offline")
	return cmd
}

// run compares the file with the modules and writes it.
func (o *moduleLockOptions) run(ctx context.Context, env command.Env) error {
	o.Relock(o.upgrade)
	old, name, err := o.readOld(ctx, env)
	if err != nil {
		return err
	}
	pins, err := o.Pins()
	if err != nil {
		return err
	}
	if err := o.OpenModules(ctx, o.Policies); err != nil {
		return err
	}
	file, err := pins.Recorded()
	if err != nil {
		return err
	}
	changes := lock.Compare(old, file)
	if err := printChanges(env, changes); err != nil {
		return command.OutputError(err)
	}
	broken := 0
	if len(o.Filenames) > 0 && len(old.Modules) > 0 && len(changes) > 0 {
		broken, err = o.printImpact(ctx, env, old, file)
		if err != nil && (!o.force || ctx.Err() != nil) {
			return err
		}
		if exit := (command.ExitError{}); err != nil && !errors.As(err, &exit) {
			fmt.Fprintf(env.Err, "warning: instances are not compared: %v\n", err)
		}
	}
	if o.upgrade {
		if err := o.printNewer(ctx, env, file); err != nil {
			return err
		}
	}
	return o.write(env, name, file, broken)
}

// readOld returns the file as it is, empty if there is none, and its name. --upgrade needs
// nothing in it, and ignores one with mistakes.
func (o *moduleLockOptions) readOld(ctx context.Context, env command.Env) (*lock.File, string, error) {
	old, name, err := platform.ReadLock(ctx)
	var mistakes problem.List
	if o.upgrade && errors.As(err, &mistakes) {
		fmt.Fprintf(env.Err, "%s\nwarning: %s is ignored: all modules count as new\n", mistakes.Error(), name)
		err = nil
	}
	if old == nil {
		old = &lock.File{}
	}
	return old, name, err
}

// write writes the file, or reports that it need not or must not be written. broken is the
// number of instances that are no longer valid.
func (o *moduleLockOptions) write(env command.Env, name string, file *lock.File, broken int) error {
	written, err := os.ReadFile(name)
	current := err == nil && bytes.Equal(written, file.Bytes())
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return command.FileError(err)
	case current, errors.Is(err, fs.ErrNotExist) && len(file.Modules) == 0:
		fmt.Fprintf(env.Err, "%s is up to date: %s\n", name, source.Count(len(file.Modules), "module"))
		return nil
	case o.check:
		fmt.Fprintf(env.Err, "%s is not up to date; run 'pequod module lock'\n", name)
		return command.ExitWith(command.ExitNo)
	case broken > 0 && !o.force:
		fmt.Fprintf(env.Err, "%s is not written: with it, %s would no longer be valid; --force writes it\n", name, source.Count(broken, "instance"))
		return command.ExitWith(command.ExitNo)
	}
	if err := atomicfile.Write(name, file.Bytes()); err != nil {
		return command.FileError(err)
	}
	fmt.Fprintf(env.Err, "%s: %s locked\n", name, source.Count(len(file.Modules), "module"))
	return nil
}

// printChanges prints a table of changes to stdout, and a line for each module with another
// signer. It prints nothing if there are none.
func printChanges(env command.Env, changes []lock.Change) error {
	if len(changes) == 0 {
		return nil
	}
	var rows [][]string
	var signers strings.Builder
	for _, c := range changes {
		old, now := &lock.Module{}, &lock.Module{}
		if c.Old != nil {
			old = c.Old
		}
		if c.New != nil {
			now = c.New
		}
		rows = append(rows, []string{
			source.Escape(cmp.Or(now.Identity(), old.Identity()), ""), versionText(c.Old), versionText(c.New), shortDigest(old), shortDigest(now),
		})
		if c.New != nil && old.Signer != now.Signer {
			fmt.Fprintf(&signers, "%s: %s\n", source.Escape(now.Name(), ""), signerChange(old.Signer, now.Signer))
		}
	}
	table := style.Table([]string{"MODULE", "FROM", "TO", "OLD DIGEST", "NEW DIGEST"}, rows, style.TerminalWidth(env.Out))
	_, err := fmt.Fprint(env.Out, table+signers.String())
	return err
}

// signerChange describes a change of the signer of a module. Modules for which no rule
// demands a signature have none.
func signerChange(old, now string) string {
	old, now = source.Escape(old, ""), source.Escape(now, "")
	switch {
	case old == "":
		return "signed by " + now
	case now == "":
		return "no rule demands a signature; before, it was signed by " + old
	}
	return "signed by " + now + "; before, by " + old
}

// versionText returns the version of a module, its tag if that is not a version, or "-"
// for no module.
func versionText(m *lock.Module) string {
	if m == nil {
		return "-"
	}
	tag := m.Ref[strings.LastIndexAny(m.Ref, ":@/")+1:]
	if m.Commit != "" {
		_, tag, _ = strings.Cut(m.Ref, "?ref=")
		tag = cmp.Or(tag, "HEAD")
	}
	return source.Escape(cmp.Or(m.Version, tag), "")
}

// shortDigest returns the beginning of the digest or commit of a module, or "-" for none.
func shortDigest(m *lock.Module) string {
	hex := strings.TrimPrefix(cmp.Or(m.Digest, m.Commit), "sha256:")
	if hex == "" {
		return "-"
	}
	return hex[:min(12, len(hex))]
}
