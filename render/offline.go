package render

import (
	"context"
	"fmt"

	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
)

// offline is the registry of modules that are complete in themselves.
type offline struct{}

func (offline) ModFile(_ context.Context, m module.Version) (*modfile.File, error) {
	return nil, errNoRegistry(m)
}

func (offline) Fetch(_ context.Context, m module.Version) (module.SourceLoc, error) {
	return module.SourceLoc{}, errNoRegistry(m)
}

func (offline) ModuleVersions(_ context.Context, _ string) ([]string, error) { return nil, nil }

func errNoRegistry(m module.Version) error {
	return fmt.Errorf("needs %v: modules from registries are not supported", m)
}
