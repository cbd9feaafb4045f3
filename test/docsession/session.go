// Package docsession runs the commands that a document shows, and compares their
// output with the document. [Run] is the entry point.
//
// A document has three kinds of fenced blocks:
//
//   - console: lines that begin with "$ " are shell commands. They run one after
//     the other in one directory. The lines after a command are the output, stdout
//     and stderr, that it must print. "…" stands for omitted text: on a line of its
//     own for one or more lines, otherwise for part of a line. A command that fails
//     must be followed by one that shows its exit code: $ echo $?
//   - sh, unless the file below has the suffix .sh: commands that are only shown, because
//     they need what a session doesn't have, such as a registry on another machine.
//   - any other language: a file that is written when the block is reached. Its
//     name is the last `code` in the line before the block.
//
// A console block with a command that fails, and its exit code:
//
//	$ grep apache app.yaml
//	$ echo $?
//	1
//
// Only commands in console blocks run. To keep a command from being forgotten,
// each line that looks like one must be in such a block.
package docsession

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Session is a document and the environment of its commands.
type Session struct {
	// Doc is the path of the document.
	Doc string
	// Dir is the directory in which files are written and commands run. Checkout
	// is the directory in which make runs. With ReadOnly, nothing may be written
	// to Dir.
	Dir, Checkout string
	ReadOnly      bool
	// Env is the environment of all commands. Commands other than make also get
	// MoreEnv.
	Env, MoreEnv []string
	// NotRun maps commands that are not run to the reason.
	NotRun map[string]string
	// Before is called before each command that is run. It may be nil.
	Before func(command string)
	// Must lists commands that the document has to show.
	Must []string
	// Replace maps texts of the document to others, such as the address of a server that
	// a reader starts to that of the one of the test.
	Replace map[string]string
}

// Run runs a session and fails the test if a command prints something else than
// the document shows. A difference does not end the session: the commands after
// it run, so that one run of the test finds all differences.
//
// The checks after the last block keep the session and the document together:
// every line with a prompt is a command of a console block, and every command
// that NotRun or Must names is in the document.
func Run(t testing.TB, s Session) {
	t.Helper()
	text, err := os.ReadFile(s.Doc)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range s.Replace {
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	blocks, err := Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", s.Doc, err)
	}
	sh := &shell{Session: s}
	var seen []string
	for _, b := range blocks {
		if b.File != "" && s.ReadOnly {
			t.Fatalf("%s: a session that may write nothing writes %s", s.Doc, b.File)
		}
		if b.File != "" {
			sh.write(t, b)
			continue
		}
		for i, c := range b.Commands {
			seen = append(seen, c.Text)
			if s.NotRun[c.Text] != "" {
				continue
			}
			if s.Before != nil {
				s.Before(c.Text)
			}
			got, code := sh.run(t, c.Text)
			if !Matches(c.Output, got) {
				t.Errorf("%s:%d: $ %s (-want +got):\n%s", s.Doc, c.Line, c.Text, cmp.Diff(c.Output, got))
			}
			// Only the next command of the same block shows the exit code.
			shown := i+1 < len(b.Commands) && b.Commands[i+1].Text == "echo $?"
			if code != 0 && !shown {
				t.Errorf("%s:%d: $ %s ends with %d, which isn't shown", s.Doc, c.Line, c.Text, code)
			}
		}
	}
	if n := len(regexp.MustCompile(`(?m)^\s*\$ `).FindAllString(string(text), -1)); n != len(seen) || n == 0 {
		t.Errorf("%s has %d lines that look like commands, of which %d are in console blocks", s.Doc, n, len(seen))
	}
	for command := range s.NotRun {
		if !slices.Contains(seen, command) {
			t.Errorf("%s doesn't have the command %q", s.Doc, command)
		}
	}
	for _, command := range s.Must {
		if !slices.Contains(seen, command) {
			t.Errorf("%s doesn't have the command %s", s.Doc, command)
		}
	}
}

// shell runs commands in one directory. Each command sees the exit code of the
// one before.
type shell struct {
	Session
	code int
}

// write writes the file of a block, with the directories above it.
func (s *shell) write(t testing.TB, b Block) {
	t.Helper()
	file := filepath.Join(s.Dir, filepath.FromSlash(b.File))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(b.Lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command and returns its output by lines, and its exit code. The
// shell is told the exit code of the command before, so that $? shows it: each
// command has a shell of its own.
func (s *shell) run(t testing.TB, command string) (lines []string, code int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", fmt.Sprintf("(exit %d)\n%s", s.code, command))
	cmd.Dir, cmd.Env = s.Dir, s.Env
	if strings.HasPrefix(command, "make ") {
		cmd.Dir = s.Checkout
	} else {
		cmd.Env = slices.Concat(s.Env, s.MoreEnv)
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("$ %s: %v", command, err)
	}
	s.code = cmd.ProcessState.ExitCode()
	if len(out) == 0 {
		return nil, s.code
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), s.code
}

// Block is a fenced block: a file or commands. File and Commands are never both
// set.
type Block struct {
	// File is the path of a file and Lines its content. For commands, File is
	// empty.
	File     string
	Lines    []string
	Commands []Command
}

// Command is one command of a console block, with the output that the document
// shows.
type Command struct {
	// Line is the line number in the document, from 1.
	Line int
	// Text is the command without the prompt.
	Text string
	// Output are the lines that the document shows; nil means that the command
	// must print nothing.
	Output []string
}

// codeSpan matches `code` in a line of Markdown.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// Parse returns the fenced blocks of a document, in order. It returns an error if
// a block has no end, a console block does not begin with a command, or no line
// names the file of another block.
func Parse(text string) ([]Block, error) {
	var blocks []Block
	// info is the language of the current block, and before the last line outside
	// blocks that is not empty.
	var info, before string
	inside := false
	var b Block
	for i, line := range strings.Split(text, "\n") {
		fence, fenced := strings.CutPrefix(line, "```")
		switch {
		case fenced && inside:
			inside = false
			if info != "console" {
				b.File = lastCode(before)
			}
			if info == "sh" && !strings.HasSuffix(b.File, ".sh") {
				continue
			}
			if info != "console" && b.File == "" {
				return nil, fmt.Errorf("line %d: a block that is no console session and no line before it names a file", i+1)
			}
			blocks = append(blocks, b)
		case fenced:
			inside, info, b = true, fence, Block{}
		case !inside && line != "":
			before = line
		case inside && info != "console":
			b.Lines = append(b.Lines, line)
		case inside && strings.HasPrefix(line, "$ "):
			b.Commands = append(b.Commands, Command{Line: i + 1, Text: line[2:]})
		case inside && len(b.Commands) == 0:
			return nil, fmt.Errorf("line %d: a console block begins with a command", i+1)
		case inside:
			last := &b.Commands[len(b.Commands)-1]
			last.Output = append(last.Output, line)
		}
	}
	if inside {
		return nil, errors.New("a block doesn't end")
	}
	return blocks, nil
}

// lastCode returns the last `code` of a line, or "".
func lastCode(line string) string {
	spans := codeSpan.FindAllStringSubmatch(line, -1)
	if len(spans) == 0 {
		return ""
	}
	return spans[len(spans)-1][1]
}

// Matches compares output line by line. "…" in want stands for omitted
// text. It turns want into a regular expression: "…" alone becomes one or more
// lines, and within a line it becomes ".*".
func Matches(want, got []string) bool {
	var pattern strings.Builder
	for _, line := range want {
		if line == "…" {
			pattern.WriteString(`(?:.*\n)+`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`)
	}
	var text strings.Builder
	for _, line := range got {
		text.WriteString(line + "\n")
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(text.String())
}
