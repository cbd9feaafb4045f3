package distribute

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/modules/oci"
)

// refused returns err as an answer no, unless files could not be read.
func refused(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return command.FileError(err)
	}
	return command.ExitError{Code: command.ExitNo, Causes: []error{err}}
}

// parseVersion parses a reference to one version.
func parseVersion(arg string) (oci.Ref, error) {
	ref, err := oci.ParseRef(arg)
	if err == nil && (ref.Tag == "" || ref.Digest != "") {
		err = fmt.Errorf("%s: want a reference with a version, such as %s:v1.0.0", arg, ref.Place())
	}
	return ref, err
}
