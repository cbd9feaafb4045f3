package runner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/redact"
)

// failure is an error for people.
type failure struct {
	message string
	// permanent is set if the same input leads to the same error.
	permanent bool
}

// Error implements error.
func (f *failure) Error() string { return f.message }

// program runs the program tofu in a directory.
type program struct {
	dir string
	env []string
	log io.Writer
	// hidden are values that messages must not have.
	hidden []string
}

// diagnostic is an error or a warning of OpenTofu.
type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    *struct {
		Filename string `json:"filename"`
		Start    struct {
			Line   int `json:"line"`
			Column int `json:"column"`
		} `json:"start"`
	} `json:"range"`
}

// same reports whether two diagnostics describe the same problem.
func (d diagnostic) same(other diagnostic) bool {
	return d.Summary == other.Summary && d.Detail == other.Detail
}

// command returns a command. When ctx is done, tofu is interrupted: it ends what it is doing, and
// stores the state.
func (p *program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "tofu", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// run runs a command whose output is one JSON object a line, writes the messages to the log, and
// returns the exit code with the diagnostics. Details may have values, so the log has none.
func (p *program) run(ctx context.Context, args ...string) (int, []diagnostic, error) {
	cmd := p.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	defer func() { p.logErrors(stderr.String()) }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, startFailure(err)
	}
	var diagnostics []diagnostic
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if d := p.line(line); d != nil {
			diagnostics = append(diagnostics, *d)
		}
		if err != nil {
			break // the end of the output
		}
	}
	code, err := exitCode(ctx, args[0], cmd.Wait())
	if err == nil && code == 1 && len(diagnostics) == 0 {
		diagnostics = append(diagnostics, diagnostic{Severity: "error", Summary: "tofu " + args[0] + " failed", Detail: stderr.String()})
	}
	return code, diagnostics, err
}

// logErrors writes what a command has written to stderr, such as the crash of a provider, to the log. It is
// written when the command has ended, because a value that is secret may have several lines.
func (p *program) logErrors(text string) { fmt.Fprint(p.log, p.redact(text)) }

// line writes the message of a line to the log, and returns its diagnostic, if it has one.
func (p *program) line(line []byte) *diagnostic {
	var known struct {
		Message    string      `json:"@message"`
		Diagnostic *diagnostic `json:"diagnostic"`
	}
	if json.Unmarshal(line, &known) != nil {
		return nil
	}
	fmt.Fprintln(p.log, p.redact(known.Message))
	return known.Diagnostic
}

// read runs a command that prints one JSON object.
func (p *program) read(ctx context.Context, into any, args ...string) error {
	cmd := p.command(ctx, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	defer func() { p.logErrors(stderr.String()) }()
	if err := cmd.Start(); err != nil {
		return startFailure(err)
	}
	code, err := exitCode(ctx, args[0], cmd.Wait())
	if err != nil {
		return err
	}
	// tofu prints warnings about its own configuration before the value.
	_, value, _ := strings.Cut("\n"+out.String(), "\n{")
	if err := json.Unmarshal([]byte("{"+value), into); err != nil {
		return &failure{message: p.redact(fmt.Sprintf("tofu %s ended with exit code %d: %s", args[0], code, executor.Excerpt(stderr.String())))}
	}
	return nil
}

// startFailure is the error of a program that can't be started.
func startFailure(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return &failure{message: "the image has no program tofu in its PATH", permanent: true}
	}
	return err
}

// exitCode returns the exit code of a command that has ended.
func exitCode(ctx context.Context, command string, err error) (int, error) {
	if ctx.Err() != nil {
		return 0, &failure{message: "tofu " + command + " was interrupted"}
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	}
	return 0, fmt.Errorf("tofu %s: %w", command, err)
}

// errorsOf returns the diagnostics that are errors.
func errorsOf(all []diagnostic) []diagnostic {
	var found []diagnostic
	for _, d := range all {
		if d.Severity == "error" {
			found = append(found, d)
		}
	}
	return found
}

// failed returns the error of a command with its first diagnostic, as FILE:LINE:COLUMN: SUMMARY:
// DETAIL.
func (p *program) failed(command string, found []diagnostic, permanent bool) error {
	if len(found) == 0 {
		return &failure{message: "tofu " + command + " failed without an error", permanent: permanent}
	}
	d := found[0]
	text := p.redact(d.Summary)
	switch {
	case d.Range != nil:
		text = fmt.Sprintf("%s:%d:%d: %s", d.Range.Filename, d.Range.Start.Line, d.Range.Start.Column, text)
	case d.Address != "":
		text = d.Address + ": " + text
	}
	if d.Detail != "" {
		text = strings.TrimSuffix(text, ".") + ": " + executor.Excerpt(p.redact(d.Detail))
	}
	if n := len(found) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return &failure{message: text, permanent: permanent}
}

// redact removes the values of variables that are secret.
func (p *program) redact(text string) string {
	return redact.New().And(p.hidden...).Text(text)
}
