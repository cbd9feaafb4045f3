package vendored

import (
	"errors"
	"io/fs"
	"os"
)

// renameBoth renames a directory to the name of another one, which it puts beside fresh.
// For a moment there is neither. If the second renaming fails, the first one is undone.
func renameBoth(fresh, old string) error {
	aside := fresh + "-old"
	if err := os.Rename(old, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, old); err != nil {
		_ = os.Rename(aside, old) // err is the cause
		return err
	}
	return nil
}
