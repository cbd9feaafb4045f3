package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/room"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/modules"
)

// ConfineFlags are the flags of commands that work on what a pull request may have changed.
type ConfineFlags struct {
	confined choice
	cmd      *cobra.Command
}

// ConfineVariable is the default of --confine. It is "false" for processes that have a room already.
const ConfineVariable = "PEQUOD_CONFINE"

// AddFlags registers the flags with cmd.
func (f *ConfineFlags) AddFlags(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().Var(&f.confined, "confine", "before anything is evaluated, limit this process to reading the repository and the named files, without network; Linux only (default: if CI=true)")
	cmd.Flags().Lookup("confine").NoOptDefVal = "true"
}

// Confined reports whether Confine limits the process.
func (f *ConfineFlags) Confined() bool { return f.confined.or(inCI()) }

// Confine limits the process with Landlock, if the flags demand it: it may still read the repository of
// the working directory and the files on the command line, and what more permits. The modules of the
// given flags are fetched before that, because nothing can be fetched later.
//
// A message on stderr tells what the kernel can't limit. Confine must be called once, before anything is
// evaluated.
func (f *ConfineFlags) Confine(ctx context.Context, more confine.Room, flags ...Fetcher) error {
	if !f.Confined() {
		return nil
	}
	if missing := confine.Missing(); missing != "" {
		fmt.Fprintln(f.cmd.ErrOrStderr(), "pequod: --confine: this process can't be limited in "+missing)
	}
	for _, each := range flags {
		each.Fetch(ctx)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	more.Run = append(more.Run, gitfs.Programs()...)
	if git := room.Repository(ctx, dir); git != nil {
		more.Read = append(more.Read, git...)
		for name, value := range room.GitEnvironment() {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
		if place, err := gitfs.Locate(ctx); err == nil {
			dir = place.Root
		}
	}
	more.Read = append(append(more.Read, modules.Root(dir)), f.named()...)
	if err := room.Of(dir, more.Network).And(more).Enter(); err != nil {
		return fmt.Errorf("--confine: %w; --confine=false runs the command without limits", err)
	}
	// Another pequod that this one starts is in the room, too.
	return os.Setenv(ConfineVariable, "false")
}

// named returns the files and directories on the command line: arguments, and values of flags.
func (f *ConfineFlags) named() []string {
	values := f.cmd.Flags().Args()
	f.cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = append(values, list.GetSlice()...)
		} else {
			values = append(values, flag.Value.String())
		}
	})
	var files []string
	for _, v := range values {
		v = strings.TrimPrefix(v, "oci-layout:")
		for _, name := range []string{v, v[:max(0, strings.LastIndex(v, ":"))]} { // an archive or a layout may have a tag
			info, err := os.Stat(name)
			if err == nil && info.IsDir() {
				if name, err = filepath.Abs(name); err == nil {
					name = modules.Root(name) // a package needs the files of its module
				}
			}
			if err == nil {
				files = append(files, name)
			}
		}
	}
	return files
}

// Fetcher are flags that choose modules.
type Fetcher interface {
	// Fetch opens the modules, so that loading them makes no requests. What can't be opened is an error
	// when it is loaded.
	Fetch(ctx context.Context)
}

// Fetch implements [Fetcher].
func (f *Flags) Fetch(ctx context.Context) {
	for _, arg := range f.Platforms {
		if all, err := transforms(ctx, f.Modules, arg); err == nil {
			_, _ = openAll(ctx, all) // the error is kept
		}
	}
	f.Modules.Seal()
}
