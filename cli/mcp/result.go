package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/cli/report"
)

// result is the answer of a tool. Fields may be added; none is renamed or removed.
type result struct {
	// OK means that there is an answer without errors. A difference is an answer.
	OK bool `json:"ok" jsonschema:"false if a problem is an error or there is no answer"`
	// Problems are those of instances and modules.
	Problems []report.JSONProblem `json:"problems,omitempty" jsonschema:"what is wrong, with file, line, field and hint"`
	// Data is the JSON output of the command, and Text its output in other formats.
	Data any    `json:"data,omitempty" jsonschema:"the answer as JSON"`
	Text string `json:"text,omitempty" jsonschema:"the answer as text"`
	// Messages has the output for people: errors, warnings and notes.
	Messages string `json:"messages,omitempty" jsonschema:"errors and notes"`
}

// answer runs a command line and returns its answer.
func (r *runner) answer(ctx context.Context, c call) (result, error) {
	ran, err := r.run(ctx, c.may, r.offline(c.args)...)
	if err != nil {
		return result{}, err
	}
	a := result{OK: ran.code == 0 || c.differs && ran.code == 1, Messages: strings.TrimSpace(ran.messages)}
	switch text := strings.TrimSpace(ran.out); {
	case c.problems:
		if err := json.Unmarshal([]byte(text), &a.Problems); err != nil {
			a.Messages = strings.TrimSpace(a.Messages + "\n" + text)
		}
	case json.Valid([]byte(text)):
		a.Data = json.RawMessage(text)
	default:
		a.Text = text
	}
	if !a.OK && c.validate != nil {
		// The command printed its problems for people.
		args := append([]string{"validate", "--output=json"}, c.validate...)
		if checked, err := r.run(ctx, c.may, r.offline(args)...); err == nil {
			if err := json.Unmarshal([]byte(checked.out), &a.Problems); err == nil && len(a.Problems) > 0 {
				a.Messages = ""
			}
		}
	}
	for i := range a.Problems {
		a.Problems[i].File = r.below(a.Problems[i].File)
	}
	return a, nil
}

// below returns the path of a file relative to the directory of the server, as clients name
// it. Reports for other systems name files relative to the root of the git repository.
func (r *runner) below(file string) string {
	for at := r.dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err != nil {
			continue
		}
		name := filepath.Join(at, filepath.FromSlash(file))
		if _, err := os.Lstat(name); err != nil {
			break // not a file on disk
		}
		if rel, err := filepath.Rel(r.dir, name); err == nil {
			return filepath.ToSlash(rel)
		}
		break
	}
	return file
}

// offline returns a command line that makes no requests, unless the server allows them.
func (r *runner) offline(args []string) []string {
	if r.network {
		return args
	}
	return withFlags(args, "--offline")
}
