package platform

import (
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/oci"
)

// RegistryFlags are the flags of commands that use registries.
type RegistryFlags struct {
	caFile    string
	plainHTTP bool
	// Client returns the client for registries, always the same one. AddFlags sets it.
	Client func() (*oci.Client, error)
	// PinFlags decide which artifacts may be read. Commands that load no modules do not
	// register them; Client then has no cache.
	PinFlags
}

// AddFlags registers the flags with cmd and sets Client, which reads them when it is
// called.
func (f *RegistryFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.caFile, "registry-ca-file", "", "PEM file with certificates of authorities to trust for registries, in addition to those of the system")
	fl.BoolVar(&f.plainHTTP, "registry-plain-http", false, "allow registries without TLS")
	f.Client = sync.OnceValues(func() (*oci.Client, error) {
		o := oci.Options{CAFile: f.caFile, PlainHTTP: f.plainHTTP, UserAgent: "pequod/" + version.Program()}
		if f.Pins != nil {
			pins, err := f.Pins()
			if err != nil {
				return nil, err
			}
			o.Blobs, o.Transport = pins.Blobs(), pins.Transport()
		}
		if w := cmd.ErrOrStderr(); style.TerminalWidth(w) > 0 && os.Getenv("TERM") != "dumb" {
			o.Progress = progress.NewTransfer(w, progress.Patience)
		}
		client, err := oci.New(o)
		return client, command.FileError(err)
	})
}

// Artifacts returns the reader for the artifacts that users refer to: Client, limited to
// those that pequod.lock allows for commands with PinFlags.
func (f *RegistryFlags) Artifacts() (modules.Artifacts, error) {
	client, err := f.Client()
	if err != nil || f.Pins == nil {
		return client, err
	}
	pins, err := f.Pins()
	if err != nil {
		return nil, err
	}
	return pins.Roots(client), nil
}
