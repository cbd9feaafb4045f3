package platform

import (
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules/oci"
)

// RegistryFlags are the flags of commands that use registries.
type RegistryFlags struct {
	caFile    string
	plainHTTP bool
	// Client returns the client for registries, always the same one. AddFlags sets it.
	Client func() (*oci.Client, error)
}

// AddFlags registers the flags with cmd and sets Client, which reads them when it is
// called.
func (f *RegistryFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.caFile, "registry-ca-file", "", "PEM file with certificates of authorities to trust for registries, in addition to those of the system")
	fl.BoolVar(&f.plainHTTP, "registry-plain-http", false, "allow registries without TLS")
	f.Client = sync.OnceValues(func() (*oci.Client, error) {
		o := oci.Options{CAFile: f.caFile, PlainHTTP: f.plainHTTP, UserAgent: "pequod/" + version.Program()}
		if w := cmd.ErrOrStderr(); style.TerminalWidth(w) > 0 && os.Getenv("TERM") != "dumb" {
			o.Progress = progress.NewTransfer(w, progress.Patience)
		}
		client, err := oci.New(o)
		return client, command.FileError(err)
	})
}
