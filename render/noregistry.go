package render

import (
	"context"
	"fmt"

	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
)

// noRegistry is a registry for CUE's loader that has no module, so that an
// import which is not among a module's files is an error and never a download.
type noRegistry struct{}

// ModFile returns an error that names the module.
func (noRegistry) ModFile(_ context.Context, m module.Version) (*modfile.File, error) {
	return nil, errNoRegistry(m)
}

// Fetch returns an error that names the module.
func (noRegistry) Fetch(_ context.Context, m module.Version) (module.SourceLoc, error) {
	return module.SourceLoc{}, errNoRegistry(m)
}

// ModuleVersions returns no versions and no error: the loader reports the import.
func (noRegistry) ModuleVersions(_ context.Context, _ string) ([]string, error) { return nil, nil }

// errNoRegistry returns the error for an import of another module.
func errNoRegistry(m module.Version) error {
	return fmt.Errorf("needs %v: modules from registries are not supported", m)
}
