package command

import (
	"fmt"

	"github.com/pequod-io/pequod/internal/problem"
)

// Exit codes of every command. A pipeline can tell a bad pull request (ExitNo)
// from a full disk (ExitUnknown).
const (
	// ExitOK means success: the answer is yes.
	ExitOK = 0
	// ExitNo means that the answer is no: broken input, a violation, a
	// difference, a graph that isn't ready in time.
	ExitNo = 1
	// ExitUnknown means that there is no answer: wrong usage, I/O or network
	// errors, an unreachable cluster, an evaluation over its limits.
	ExitUnknown = 2
)

// ExitError ends a command with an exit code of its choice.
type ExitError struct {
	Code int
	// Causes are still to be printed, one line each. The slice is empty if the
	// command printed everything as part of its output.
	Causes []error
}

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// ExitWith returns an error that ends the command with code and prints nothing.
// It returns nil for ExitOK.
func ExitWith(code int) error {
	if code == ExitOK {
		return nil
	}
	return ExitError{Code: code}
}

// ProblemsExitCode returns the exit code for a list of problems. Warnings and
// notes don't count. A check that could not be made outweighs every failed one.
func ProblemsExitCode(ps problem.List) int {
	code := ExitOK
	for _, p := range ps {
		if p.Severity != problem.Error {
			continue
		}
		if p.Rule == problem.RuleUnchecked {
			return ExitUnknown
		}
		code = ExitNo
	}
	return code
}
