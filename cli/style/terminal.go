package style

import (
	"io"
	"os"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// Colored reports whether text on w is colored. By default, a terminal is colored
// unless TERM is "dumb". Three variables change this:
//
//   - NO_COLOR, if not empty, turns colors off (https://no-color.org).
//   - CLICOLOR_FORCE, if not empty and not 0, turns them on, also for files and pipes.
//   - CLICOLOR=0 turns them off (https://bixense.com/clicolors).
//
// The first one that says something wins.
func Colored(w io.Writer) bool {
	f, _ := w.(*os.File)
	on := colored(f != nil && term.IsTerminal(int(f.Fd())), os.Getenv)
	if on && f != nil {
		lipgloss.EnableLegacyWindowsANSI(f) // does nothing on other systems
	}
	return on
}

// colored has the rules of [Colored]. The package colorprofile, which lipgloss uses,
// reads the variables as booleans: it ignores NO_COLOR=yes and CLICOLOR=0.
func colored(terminal bool, getenv func(string) string) bool {
	force := getenv("CLICOLOR_FORCE")
	switch {
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	case !terminal || getenv("TERM") == "dumb":
		return false
	}
	return getenv("CLICOLOR") != "0"
}

// minWidth is the least width to which lines are wrapped. In a narrower window, the
// terminal wraps them.
const minWidth = 40

// TerminalWidth returns the width of the terminal w, at which trees and tables wrap
// their lines. It returns 0, for no limit, if w is no terminal, so that what another
// program reads depends on no window.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < minWidth {
		return 0
	}
	return width
}
