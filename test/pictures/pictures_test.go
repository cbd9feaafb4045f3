package pictures

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pequod-io/pequod/review/drawing"
	"github.com/pequod-io/pequod/test/browser"
	"github.com/pequod-io/pequod/test/server"
)

var update = flag.Bool("update", false, "rewrite the pictures")

// directory is where the documents find the pictures.
const directory = "../../docs/pictures"

// compare compares a drawing with the one of the documents, or writes it with -update.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(directory, name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what the programs print now: run make pictures", name)
	}
}

// repository returns the directory of the repository of the pictures, on its branch, and
// a function that runs commands in it.
func repository(t *testing.T) (dir string, run func(command string) string) {
	t.Helper()
	dir = t.TempDir()
	bin := t.TempDir()
	if err := server.Programs(context.Background(), bin, "", []string{"pequod"}); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "CLICOLOR_FORCE=1", "NO_COLOR=", "HOME="+bin,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	run = func(command string) string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		// A command whose answer is no has output, too.
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	archive, err := txtar.ParseFile("testdata/shop.txtar")
	if err != nil {
		t.Fatal(err)
	}
	write := func(prefix string, head bool) {
		for _, f := range archive.Files {
			name, inHead := strings.CutPrefix(f.Name, prefix)
			if inHead != head {
				continue
			}
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("head/", false)
	run("git init -q -b main && git add -A && git commit -qm base && git checkout -qb release")
	write("head/", true)
	return dir, run
}

// TestTerminal checks the terminal pictures.
func TestTerminal(t *testing.T) {
	_, run := repository(t)
	for name, command := range map[string]string{
		"review.svg":   "pequod review --fail-on data-loss",
		"validate.svg": "pequod validate -f wrong.yaml",
		"graph.svg":    "pequod graph -f apps/lagos.yaml",
	} {
		compare(t, name, terminal(command, run(command)))
	}
	compare(t, "drawing.svg", run("pequod graph -f apps/lagos.yaml -o svg"))
}

// TestArchitecture checks the picture of the architecture.
func TestArchitecture(t *testing.T) {
	compare(t, "architecture.svg", drawing.Document([]drawing.Graph{architecture()}))
}

// TestScreenshots opens the report and makes its screenshots with -update.
func TestScreenshots(t *testing.T) {
	b := browser.Start(t)
	dir, run := repository(t)
	run("pequod review -o html --source-link 'https://git.acme.example/shops/blob/release/{file}#L{line}' > review.html")
	p := b.Open(t, (&url.URL{Scheme: "file", Path: filepath.Join(dir, "review.html")}).String())
	p.Size(1200, 1000)
	for name, colors := range map[string]string{"report-light.png": "light", "report-dark.png": "dark"} {
		p.Media("screen", colors)
		save(t, name, p.Screenshot())
	}
	p.Media("screen", "light")
	browser.Eval[bool](p, `(document.querySelector(".entry").open = true, document.querySelector("#split").click(), scrollTo(0, document.querySelector(".group").offsetTop - 170), true)`)
	save(t, "report-diff.png", p.Screenshot())
	if problems, requests := p.Problems(), p.Requests(); len(problems)+len(requests) > 0 {
		t.Errorf("problems %q, requests %q", problems, requests)
	}
}

// save writes a screenshot with -update, and otherwise checks that the documents have one.
func save(t *testing.T, name string, data []byte) {
	t.Helper()
	file := filepath.Join(directory, name)
	if *update {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(old, []byte("\x89PNG")) || !bytes.HasPrefix(data, []byte("\x89PNG")) {
		t.Errorf("%s: no picture: %v", name, err)
	}
}

// A terminal picture has the text, the colors and the columns of the output.
func TestTerminalPicture(t *testing.T) {
	got := terminal("x", "\x1b[1;32m+ <a>\x1b[m  \x1b[31mb\x1b[0m c\n")
	for _, want := range []string{
		`x="16.0" y="72" textLength="39.0" class="bold green">+ &lt;a&gt;</text>`, `x="70.6" y="72" textLength="7.8" class="red">b</text>`,
		`x="86.2" y="72" textLength="7.8">c</text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
}
