package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/pin"
	"github.com/pequod-io/pequod/modules/vendored"
)

// PinFlags are the flags that decide which versions of modules are loaded, and whether
// the network may be used.
type PinFlags struct {
	locked  choice
	offline bool
	// Pins returns the decisions, always the same. AddFlags sets it. It reads pequod.lock
	// when it is first called.
	Pins func() (*pin.Pins, error)
	// relock is set by [PinFlags.Relock].
	relock *relocking
	// unlocked is set by [PinFlags.Unlock].
	unlocked bool
	// unvendored is set by [PinFlags.IgnoreVendored].
	unvendored bool
	// fixed is set by [PinFlags.Fix].
	fixed *lock.File
	// SettingsDir is the directory whose pequod.yaml and pequod.lock apply. "" is the working
	// directory. A command sets it before Pins; it is no flag.
	SettingsDir string
}

// relocking are the options of a command that writes pequod.lock.
type relocking struct{ upgrade bool }

// Relock prepares the flags for a command that writes pequod.lock. Pins then refuses
// nothing that is not in the file, looks at the registry for tags that were moved, and
// records what is loaded. With upgrade, it ignores the file. It must be called before
// Pins.
func (f *PinFlags) Relock(upgrade bool) { f.relock = &relocking{upgrade} }

// Unlock prepares the flags for a command that shows modules which need not be in
// pequod.lock yet: the file is only obeyed with an explicit --locked. It must be called
// before Pins.
func (f *PinFlags) Unlock() { f.unlocked = true }

// IgnoreVendored prepares the flags for a command that writes the vendored modules. It must be
// called before Pins.
func (f *PinFlags) IgnoreVendored() { f.unvendored = true }

// Fix prepares the flags for a command that loads exactly the modules of a file, instead of
// those of pequod.lock, by their digests. It must be called before Pins.
func (f *PinFlags) Fix(file *lock.File) { f.fixed = file }

// AddFlags registers the flags with cmd and sets Pins.
func (f *PinFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Var(&f.locked, "locked", "load only modules of registries and git that pequod.lock names (default: if pequod.lock exists, or CI=true)")
	fl.Lookup("locked").NoOptDefVal = "true"
	fl.BoolVar(&f.offline, "offline", false, "make no requests to registries and git servers: load modules from pequod.vendor and the cache")
	f.Pins = sync.OnceValues(func() (*pin.Pins, error) {
		return f.pins(cmd.Context(), func(err error) {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: downloaded modules are not kept: %v\n", err)
		})
	})
}

// pins returns the decisions of the flags, the environment and pequod.lock. warn gets the
// reason for which the cache can't be used.
func (f *PinFlags) pins(ctx context.Context, warn func(error)) (*pin.Pins, error) {
	options, err := cache.FromEnvironment(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	options.Warn = warn
	o := pin.Options{Offline: f.offline, Cache: cache.Open(options)}
	if f.relock != nil && f.relock.upgrade {
		o.Record = true
		return pin.New(o), nil
	}
	if f.fixed != nil {
		o.Lock, o.Locked, o.ByDigest = f.fixed, true, true
		return pin.New(o), nil
	}
	if f.unlocked && !f.locked.or(false) {
		return pin.New(o), nil
	}
	if o.Lock, o.LockName, err = f.ReadLock(ctx); err != nil {
		return nil, err
	}
	if f.relock != nil {
		o.Record, o.Fresh = true, true
	} else {
		o.Locked = f.locked.or(o.Lock != nil || inCI())
	}
	if f.relock == nil && !f.unvendored {
		if o.Vendored, err = openVendored(o.LockName, o.Lock); err != nil {
			return nil, err
		}
	}
	return pin.New(o), nil
}

// openVendored returns the vendored modules of a lock. name is that of its file.
func openVendored(name string, file *lock.File) (*vendored.Tree, error) {
	return vendored.Open(filepath.Join(filepath.Dir(name), vendored.DirName), file)
}

// pinsIn returns the decisions for references in the files of a git revision: those of the
// pequod.lock of the revision, or of Pins if it has none. Commands that write the lock use
// Pins.
func (f *PinFlags) pinsIn(tree *modules.Tree) (*pin.Pins, error) {
	now, err := f.Pins()
	revision, ok := tree.FS.(*gitfs.Revision)
	if err != nil || !ok || f.relock != nil || f.unlocked || f.fixed != nil {
		return now, err
	}
	name, err := f.lockName()
	if err != nil {
		return nil, err
	}
	name, inside := revision.Path(name)
	if !inside {
		return now, nil
	}
	data, err := revision.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err != nil {
		return nil, command.FileError(err)
	}
	o := pin.Options{Offline: f.offline, Cache: now.Cache(), Locked: f.locked.or(true), LockName: revision.Shown(name)}
	if o.Lock, err = lock.Read(o.LockName, data); err != nil {
		return nil, err
	}
	return pin.New(o), nil
}

// lockName returns the name of the repository's pequod.lock, whether it exists or not. The
// file is beside the pequod.yaml that applies in SettingsDir; without one, it is
// in the root of the git repository, or in the working directory.
func (f *PinFlags) lockName() (string, error) {
	return settings.Beside(command.Env{Getenv: os.LookupEnv, Dir: f.SettingsDir}, lock.FileName)
}

// ReadLock returns the pequod.lock of the repository and its name. It returns nil if there
// is none.
func ReadLock(ctx context.Context) (*lock.File, string, error) { return new(PinFlags).ReadLock(ctx) }

// ReadLock is [ReadLock] for SettingsDir.
func (f *PinFlags) ReadLock(ctx context.Context) (*lock.File, string, error) {
	name, err := f.lockName()
	if err != nil {
		return nil, "", err
	}
	data, err := files.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, name, nil
	}
	if err != nil {
		return nil, name, err
	}
	file, err := lock.Read(name, data)
	return file, name, err
}

// inCI reports whether the process runs in a pipeline: all common systems set CI.
func inCI() bool {
	ci, _ := strconv.ParseBool(os.Getenv("CI"))
	return ci
}

// choice is the value of a flag that is true, false, or not given.
type choice struct{ value *bool }

// Set implements pflag.Value. Empty text means not given.
func (c *choice) Set(s string) error {
	if s == "" {
		c.value = nil
		return nil
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("must be true or false")
	}
	c.value = &b
	return nil
}

// String implements pflag.Value.
func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return strconv.FormatBool(*c.value)
}

// Type implements pflag.Value.
func (c *choice) Type() string { return "bool" }

// or returns the given value, or otherwise if there is none.
func (c *choice) or(otherwise bool) bool {
	if c.value == nil {
		return otherwise
	}
	return *c.value
}
