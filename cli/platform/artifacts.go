package platform

import (
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/pin"
)

// ArtifactFlags are the flags of commands that read artifacts other than modules, such as
// bundles. pequod.lock does not name these, but the cache keeps them.
type ArtifactFlags struct {
	RegistryFlags
	pinned PinFlags
}

// AddFlags registers the flags with cmd.
func (f *ArtifactFlags) AddFlags(cmd *cobra.Command) {
	f.pinned.Unlock()
	cmd.Flags().BoolVar(&f.pinned.offline, "offline", false, "make no requests to registries: read from the cache")
	f.pinned.Pins = sync.OnceValues(func() (*pin.Pins, error) {
		return f.pinned.pins(cmd.Context(), func(err error) {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: downloads are not kept: %v\n", err)
		})
	})
	f.RegistryFlags.AddFlags(cmd)
	f.RegistryFlags.pins = f.pinned.Pins
}

// Artifacts returns the reader of artifacts that are signed as the rules of pequod.yaml
// demand. With --offline, a tag names the artifact that it named when this machine last saw
// it.
func (f *ArtifactFlags) Artifacts() (oci.Artifacts, error) {
	client, err := f.Client()
	if err != nil {
		return nil, err
	}
	pins, err := f.pinned.Pins()
	if err != nil {
		return nil, err
	}
	return signed(client, guard(f.pinned.Pins, nil), pins.Roots(client))
}

// Bundles returns a reader of bundles that are signed as the rules demand. pequod.lock has no
// bundles, so it isn't asked about them.
func (f *ModuleFlags) Bundles() (oci.Artifacts, error) {
	client, err := f.Client()
	if err != nil {
		return nil, err
	}
	return signed(client, guard(f.Pins, nil), client)
}
