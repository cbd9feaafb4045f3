// Package lazyregexp compiles regular expressions when they are first used.
//
// Package variables are initialized at every start of every command, and most commands use
// few of the expressions. See also docs/dependencies.md.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. It panics if the expression
// can't be parsed.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
