package platform

import (
	"os"
	"sync"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/pin"
	"github.com/pequod-io/pequod/modules/trust"
)

// guard returns a function for the rules about modules in the files pequod.yaml that apply
// in the working directory. It reads them once, when the first module is fetched: others
// need no rules.
// settingsDir is the directory whose files apply; nil and "" are the working directory.
func guard(pins func() (*pin.Pins, error), settingsDir *string) func() (*trust.Guard, error) {
	return sync.OnceValues(func() (*trust.Guard, error) {
		env := command.Env{Getenv: os.LookupEnv}
		if settingsDir != nil {
			env.Dir = *settingsDir
		}
		rules, err := settings.Rules(env)
		if err != nil {
			return nil, err
		}
		if pins == nil {
			return trust.New(rules, nil), nil
		}
		p, err := pins()
		if err != nil {
			return nil, err
		}
		return trust.New(rules, p), nil
	})
}

// Guard returns the rules about modules for commands that load none.
func (f *RegistryFlags) Guard() (*trust.Guard, error) { return guard(nil, nil)() }

// Allowed returns a reader of the artifacts that the rules about modules allow, for commands
// that load no modules.
func (f *RegistryFlags) Allowed() (oci.Artifacts, error) {
	client, err := f.Client()
	if err != nil {
		return nil, err
	}
	g, err := f.Guard()
	if err != nil {
		return nil, err
	}
	return g.Artifacts(client, client), nil
}

// guarded returns a reader that has the pins and the rules of a command.
func guarded(client *oci.Client, guard func() (*trust.Guard, error), pinned oci.Artifacts) (oci.Artifacts, error) {
	g, err := guard()
	if err != nil {
		return nil, err
	}
	return g.Artifacts(pinned, client), nil
}

// signed returns a reader of bundles, for which only the demands of signatures hold.
func signed(client *oci.Client, guard func() (*trust.Guard, error), bundles oci.Artifacts) (oci.Artifacts, error) {
	g, err := guard()
	if err != nil {
		return nil, err
	}
	return g.Signed(bundles, client), nil
}
