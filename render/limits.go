package render

import (
	"time"

	"cuelang.org/go/cue/ast"
)

// Limits bound the evaluation of one instance. CUE can't be interrupted, so an
// evaluation that exceeds its limits goes on in the background. The process
// should end after a [LimitError].
type Limits struct {
	// Timeout bounds the evaluation of one instance. 0 means no bound.
	Timeout time.Duration
	// Clock makes Timeout a bound of the CPU time of the process, for a process that
	// evaluates one instance at a time and must wait for a busy processor. The evaluation
	// then ends after Clock at the latest. 0 means that Timeout is a bound of the clock.
	Clock time.Duration
	// Memory bounds heap and stacks of the whole process, in bytes. 0 means no
	// bound.
	Memory uint64
}

// LimitError reports an evaluation that was given up.
type LimitError struct {
	// Subject is the name of what was evaluated.
	Subject string
	Reason  string
}

// Error returns the subject and the reason.
func (e *LimitError) Error() string { return e.Subject + ": " + e.Reason }

// Subject describes what is evaluated, for a [LimitError].
type Subject struct {
	Name string
	// Files returns the files of the modules that are evaluated, to search for
	// the cause of endless recursion. It may be nil.
	Files func() []*ast.File
}
