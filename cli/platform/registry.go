package platform

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/pin"
)

// RegistryFlags are the flags of commands that use registries.
type RegistryFlags struct {
	caFile    string
	plainHTTP bool
	// Client returns the client for registries, always the same one. AddFlags sets it.
	Client func() (*oci.Client, error)
	// progress returns the line on the terminal for transfers, or nil if there is no
	// terminal. All transfers of the command share it.
	progress func() oci.Progress
	// pins has the cache of clients. It is nil for commands that load no modules: their
	// clients have no cache.
	pins func() (*pin.Pins, error)
}

// AddFlags registers the flags with cmd and sets Client, which reads them when it is
// called.
func (f *RegistryFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.caFile, "registry-ca-file", "", "PEM file with certificates of authorities to trust for registries, in addition to those of the system")
	fl.BoolVar(&f.plainHTTP, "registry-plain-http", false, "allow registries without TLS")
	f.progress = sync.OnceValue(func() oci.Progress {
		if w := cmd.ErrOrStderr(); style.TerminalWidth(w) > 0 && os.Getenv("TERM") != "dumb" {
			return progress.NewTransfer(w, progress.Patience)
		}
		return nil
	})
	f.Client = sync.OnceValues(func() (*oci.Client, error) { return f.connect(f.plainHTTP) })
}

// with returns the same flags for clients with the cache of other pins.
func (f *RegistryFlags) with(pins func() (*pin.Pins, error)) RegistryFlags {
	other := &RegistryFlags{caFile: f.caFile, plainHTTP: f.plainHTTP, progress: f.progress, pins: pins}
	other.Client = sync.OnceValues(func() (*oci.Client, error) { return other.connect(other.plainHTTP) })
	return *other
}

// connect returns a new client. plain allows registries without TLS, as
// --registry-plain-http does.
func (f *RegistryFlags) connect(plain bool) (*oci.Client, error) {
	o := oci.Options{PlainHTTP: plain, UserAgent: "pequod/" + version.Program()}
	if f.pins != nil {
		pins, err := f.pins()
		if err != nil {
			return nil, err
		}
		o.Blobs, o.Transport = pins.Blobs(), pins.Transport()
	}
	if o.Transport == nil {
		base, err := oci.Transport(f.caFile)
		if err != nil {
			return nil, command.FileError(err)
		}
		o.Transport = modpath.Logins(cueConfigDir(), base)
	}
	o.Progress = f.progress()
	return oci.New(o)
}

// cueConfigDir returns the directory in which "cue login" stores credentials, or "".
func cueConfigDir() string {
	if dir := os.Getenv("CUE_CONFIG_DIR"); dir != "" {
		return dir
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cue")
}
