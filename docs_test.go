package pequod_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The documents that show commands are run, each in an empty directory of its
// own. They have two kinds of fenced blocks:
//
//   - console: lines that begin with "$ " are commands for a shell, run one
//     after the other in one directory with pequod on the path, and what follows
//     each is what it prints, stdout and stderr. "…" stands for something left
//     out: for one or more lines where it is a line of its own, else for part of
//     a line. A command that fails must be followed by one that shows its exit
//     code: $ echo $?
//   - any other: a file, named by the last `code` in the line before the block,
//     and written when the block is reached.
//
// Commands that begin with make are run in the checkout, and so are those of
// documents that lie beside what they show.

// session is a document that is run.
type session struct {
	doc string
	// inCheckout says that commands are run in the checkout, which they don't
	// write to.
	inCheckout bool
	// notRun are commands that the test doesn't run, and why.
	notRun map[string]string
}

var sessions = []session{
	{doc: "README.md", notRun: map[string]string{
		"make test":                    "it runs this test",
		"make build":                   "the session is run with what it builds, made under another name",
		`export PATH="$PWD/bin:$PATH"`: "the session has a path of its own",
	}},
	{doc: "docs/tutorial.md"},
	{doc: "docs/platform-engineer-guide.md"},
	{doc: "docs/cue-modules.md"},
	{doc: "docs/policy.md"},
	{doc: "examples/irsa/README.md", inCheckout: true},
}

// noSession are the documents that aren't run, and why.
var noSession = map[string]string{
	"docs/design.md": "it follows the code, and has a picture but no commands",
}

const testVersion = "v0.0.0-docs"

func TestDocs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the documentation is written for a shell")
	}
	bin := t.TempDir()
	buildAsMakeDoes(t, bin)
	t.Run("version", func(t *testing.T) { checkVersion(t, bin) })
	for _, s := range sessions {
		t.Run(s.doc, func(t *testing.T) {
			t.Parallel()
			s.runIn(t, bin)
		})
	}
}

// TestDocsAreRun holds that every document is run, or says why not.
func TestDocsAreRun(t *testing.T) {
	want := slices.Sorted(maps.Keys(noSession))
	for _, s := range sessions {
		want = append(want, s.doc)
	}
	var got []string
	for _, doc := range documents(t) {
		if !strings.HasPrefix(filepath.ToSlash(doc), "docs/cmd/") { // written from the commands' own help
			got = append(got, filepath.ToSlash(doc))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-in a session or excused, +in the checkout):\n%s", diff)
	}
}

var ldflags = regexp.MustCompile(`-ldflags '([^']*)'`)

// buildAsMakeDoes builds pequod with the linker flags of `make build`. It leaves
// -trimpath and CGO_ENABLED to the caller, whose packages are compiled already.
func buildAsMakeDoes(t *testing.T, dir string) {
	t.Helper()
	dry := exec.Command("make", "-n", "build", "VERSION="+testVersion)
	dry.Env = environment()
	out, err := dry.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", dry, err, out)
	}
	m := ldflags.FindSubmatch(out)
	if m == nil {
		t.Fatalf("no -ldflags in what make build runs:\n%s", out)
	}
	build := exec.Command("go", "build", "-ldflags", string(m[1]), "-o", dir, "./cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
}

// environment is that of the test without what would steer pequod, or a make
// that has nothing to do with the one that runs the test.
func environment(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PEQUOD_") && !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS=") {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

func checkVersion(t *testing.T, bin string) {
	out, err := exec.Command(filepath.Join(bin, "pequod"), "version", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Version, CUE, Kubernetes, GoVersion, Platform string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Version = testVersion
	want.CUE = moduleVersion(t, "cuelang.org/go")
	want.Kubernetes = moduleVersion(t, "k8s.io/apiextensions-apiserver")
	want.GoVersion = runtime.Version()
	want.Platform = runtime.GOOS + "/" + runtime.GOARCH
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("version (-want +got):\n%s", diff)
	}
}

func moduleVersion(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (s session) runIn(t *testing.T, bin string) {
	text, err := os.ReadFile(s.doc)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parseBlocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", s.doc, err)
	}
	checkout, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	sh := &shell{dir: t.TempDir(), checkout: checkout, env: environment(
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1",
		// Git needs to know who commits, and nothing else of the reader's.
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Reader", "GIT_AUTHOR_EMAIL=reader@example.com",
		"GIT_COMMITTER_NAME=Reader", "GIT_COMMITTER_EMAIL=reader@example.com",
	), home: home}
	if s.inCheckout {
		sh.dir = checkout
	}
	seen := map[string]bool{}
	accounted := 0
	for _, b := range blocks {
		if b.file != "" && s.inCheckout {
			t.Fatalf("%s: a session in the checkout writes %s", s.doc, b.file)
		}
		if b.file != "" {
			sh.write(t, b)
			continue
		}
		for i, c := range b.commands {
			accounted++
			seen[c.text] = true
			if s.notRun[c.text] != "" {
				continue
			}
			got, code := sh.run(t, c.text)
			if !outputMatches(c.output, got) {
				t.Errorf("%s:%d: $ %s (-want +got):\n%s", s.doc, c.line, c.text, cmp.Diff(c.output, got))
			}
			shown := i+1 < len(b.commands) && b.commands[i+1].text == "echo $?"
			if code != 0 && !shown {
				t.Errorf("%s:%d: $ %s ends with %d, which isn't shown", s.doc, c.line, c.text, code)
			}
		}
	}
	if n := len(regexp.MustCompile(`(?m)^\s*\$ `).FindAllString(string(text), -1)); n != accounted || n == 0 {
		t.Errorf("%s has %d lines that look like commands, of which %d are in console blocks", s.doc, n, accounted)
	}
	for command := range s.notRun {
		if !seen[command] {
			t.Errorf("%s doesn't have the command %q", s.doc, command)
		}
	}
	if s.doc == "README.md" && !seen["make demo"] {
		t.Errorf("%s doesn't have the command make demo", s.doc)
	}
}

// shell runs commands in one directory, each knowing the exit code of the last.
type shell struct {
	dir, checkout, home string
	env                 []string
	code                int
}

func (s *shell) write(t *testing.T, b block) {
	t.Helper()
	file := filepath.Join(s.dir, filepath.FromSlash(b.file))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(b.lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *shell) run(t *testing.T, command string) (lines []string, code int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", fmt.Sprintf("(exit %d)\n%s", s.code, command))
	cmd.Dir, cmd.Env = s.dir, s.env
	if strings.HasPrefix(command, "make ") {
		cmd.Dir = s.checkout
	} else {
		// Locks and the like are not to be left in the home directory.
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "XDG_CACHE_HOME="+s.home)
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

// block is a fenced block: a file, or commands.
type block struct {
	file     string
	lines    []string
	commands []command
}

// command is one command of a console block and what it prints.
type command struct {
	line   int
	text   string
	output []string
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

func parseBlocks(text string) ([]block, error) {
	var blocks []block
	var info, before string
	inside := false
	var b block
	for i, line := range strings.Split(text, "\n") {
		fence, fenced := strings.CutPrefix(line, "```")
		switch {
		case fenced && inside:
			if info != "console" {
				spans := codeSpan.FindAllStringSubmatch(before, -1)
				if len(spans) == 0 {
					return nil, fmt.Errorf("line %d: a block that is no console session and no line before it names a file", i+1)
				}
				b.file = spans[len(spans)-1][1]
			}
			blocks = append(blocks, b)
			inside = false
		case fenced:
			inside, info, b = true, fence, block{}
		case !inside && line != "":
			before = line
		case inside && info != "console":
			b.lines = append(b.lines, line)
		case inside && strings.HasPrefix(line, "$ "):
			b.commands = append(b.commands, command{line: i + 1, text: line[2:]})
		case inside && len(b.commands) == 0:
			return nil, fmt.Errorf("line %d: a console block begins with a command", i+1)
		case inside:
			last := &b.commands[len(b.commands)-1]
			last.output = append(last.output, line)
		}
	}
	if inside {
		return nil, errors.New("a block doesn't end")
	}
	return blocks, nil
}

// outputMatches compares line by line; "…" in want stands for what is left out.
func outputMatches(want, got []string) bool {
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

func TestDocsConvention(t *testing.T) {
	for _, test := range []struct {
		want, got string
		match     bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"a", "a", true},
		{"a.c", "abc", false},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…\nd", "a\nd", false},
		{"a\n…", "a\nb\nc", true},
		{"…\nb", "a\nb\nc", false},
		{"sha256:…", "sha256:12ab", true},
		{"sha256:…", "sha256:12ab\nmore", false},
		{"a\n\nb", "a\nb", false},
	} {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, "\n")
		}
		if got := outputMatches(split(test.want), split(test.got)); got != test.match {
			t.Errorf("outputMatches(%q, %q) = %t", test.want, test.got, got)
		}
	}
	blocks, err := parseBlocks("Text, `x`, and `dir/a.yaml`:\n\n```yaml\na: 1\n\nb: 2\n```\n\n```console\n$ cat a\nout\n\n$ true\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []block{
		{file: "dir/a.yaml", lines: []string{"a: 1", "", "b: 2"}},
		{commands: []command{{line: 10, text: "cat a", output: []string{"out", ""}}, {line: 13, text: "true"}}},
	}
	if diff := cmp.Diff(want, blocks, cmp.AllowUnexported(block{}, command{})); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"```yaml\na: 1\n```\n", "```console\nout\n```\n", "```console\n$ true\n"} {
		if _, err := parseBlocks(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
