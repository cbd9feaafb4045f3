package command

import (
	"errors"
	"fmt"
	"io/fs"
)

// OutputError adds to err that writing the output failed. An error of stdout
// doesn't name the file by itself. OutputError returns nil for nil.
func OutputError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing output: %w", err)
}

// FileError turns "open FILE: cause" into "FILE: cause". It returns errors that
// hold no *fs.PathError as they are.
func FileError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}

// FlattenErrors returns the errors that err joins, in order, however deeply
// they are nested. It returns nil for nil.
func FlattenErrors(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, FlattenErrors(err)...)
	}
	return all
}
