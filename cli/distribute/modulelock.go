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
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/atomicfile"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/lock"
)

// moduleLockOptions are the flags of module lock.
type moduleLockOptions struct {
	platform.Flags
	// policies are the values of --policy.
	policies []string
	// upgrade asks the registries again for all modules.
	upgrade bool
	// check compares only.
	check bool
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
major version is published, a line on stderr says which references to change. Layouts, archives and directories are not locked: they are files of the
repository.

The changes are printed. With --check nothing is written, and the exit code is 1 if the
file is not up to date.`,
		Example: `  pequod module lock -p platforms/
  pequod module lock --upgrade
  pequod module lock --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.Flags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&o.policies, "policy", nil, "policy module; can be repeated")
	fl.BoolVar(&o.upgrade, "upgrade", false, "move to the newest versions and accept tags that were moved")
	fl.BoolVar(&o.check, "check", false, "write nothing; exit with 1 if the file is not up to date")
	// The limits of evaluations and --locked are without effect here.
	for _, name := range []string{"locked", "eval-timeout", "eval-memory"} {
		command.Must(fl.MarkHidden(name))
	}
	cmd.MarkFlagsMutuallyExclusive("upgrade", "check")
	cmd.MarkFlagsMutuallyExclusive("upgrade", "offline")
	return cmd
}

// run compares the file with the modules and writes it.
func (o *moduleLockOptions) run(ctx context.Context, env command.Env) error {
	o.Relock(o.upgrade)
	old, name, err := platform.ReadLock(ctx)
	if err != nil && !o.upgrade {
		return err
	}
	if old == nil {
		old = &lock.File{}
	}
	pins, err := o.Pins()
	if err != nil {
		return err
	}
	if err := o.OpenModules(ctx, o.policies); err != nil {
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
	if o.upgrade {
		if err := o.printNewer(ctx, env, file); err != nil {
			return err
		}
	}
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
