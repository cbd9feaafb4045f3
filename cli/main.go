// Package cli is the pequod command: flags, text, colour and exit codes. A
// command parses its flags, calls the packages that do the work, and prints;
// [Main] alone reads the process's environment, prints errors and picks the
// exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/spf13/cobra"
)

// Exit codes of every command.
const (
	exitYes      = 0 // the answer is yes
	exitNo       = 1 // the answer is no: broken input, a violation, a difference
	exitNoAnswer = 2 // there is no answer: usage, I/O, network, a module that had to be ended
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) (string, bool)
}

// Main runs the command line of the process and gives its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks to stop; the next one ends the process.
	context.AfterFunc(ctx, stop)
	// A closed stdout is an error to report, not a signal to die of.
	signal.Ignore(syscall.SIGPIPE)
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.LookupEnv}
	return run(ctx, s, os.Args[1:])
}

func run(ctx context.Context, s streams, args []string) int {
	cmd := newCommand(s)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitYes
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(s.err, "pequod: interrupted")
		return exitNoAnswer
	}
	var said saidError
	if !errors.As(err, &said) {
		printError(s.err, err)
	}
	return exitCode(err)
}

// printError writes an error, one line for each problem in it.
func printError(w io.Writer, err error) {
	var ps problem.List
	if errors.As(err, &ps) {
		for _, line := range strings.Split(ps.Error(), "\n") {
			fmt.Fprintln(w, line)
		}
		return
	}
	fmt.Fprintln(w, "pequod: "+strings.ReplaceAll(err.Error(), "\n", " "))
}

// saidError is an error whose explanation was printed already.
type saidError struct{ code int }

func (e saidError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitCode tells broken input from a missing answer.
func exitCode(err error) int {
	var said saidError
	if errors.As(err, &said) {
		return said.code
	}
	var ps problem.List
	if errors.As(err, &ps) {
		return problemsCode(ps)
	}
	return exitNoAnswer
}

// problemsCode is the exit code of a list of problems.
func problemsCode(ps problem.List) int {
	code := exitYes
	for _, p := range ps {
		if p.Severity != problem.Error {
			continue
		}
		if p.Rule == problem.RuleUnchecked {
			return exitNoAnswer
		}
		code = exitNo
	}
	return code
}

// ioError leaves the operation out of an error about a file: FILE: cause.
func ioError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}

// Command gives the command tree, for documentation.
func Command() *cobra.Command {
	return newCommand(streams{
		in: strings.NewReader(""), out: io.Discard, err: io.Discard,
		getenv: func(string) (string, bool) { return "", false },
	})
}
