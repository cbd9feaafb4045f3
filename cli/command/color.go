package command

import (
	"io"
	"os"
)

// Colored reports whether text on w may be colored. That needs a terminal, no
// NO_COLOR (https://no-color.org) and a TERM other than "dumb".
func Colored(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0
}
