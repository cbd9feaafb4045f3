package browser

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// file writes a page and returns its address.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Text that is hard to read is found: in elements, placeholders and drawings.
func TestLowContrast(t *testing.T) {
	p := Start(t).Open(t, file(t, `<!doctype html><style>body { background: #fff; color: #000 } .pale { color: #999 } ::placeholder { color: #999 }</style>
<main><p>good</p><p class="pale">bad</p><p class="pale" hidden>hidden</p><input placeholder="bad">
<svg><rect fill="#000" width="9" height="9"/><text class="lost">bad</text><g><rect fill="#000"/><text fill="#fff">good</text></g></svg></main>`))
	want := []string{"P.pale 2.85", "INPUT.::placeholder 2.85", "text.lost 1.00"}
	if got := p.LowContrast(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A page that does everything wrong is seen to do so: otherwise tests that expect
// nothing would prove nothing.
func TestProblems(t *testing.T) {
	p := Start(t).Open(t, file(t, `<!doctype html>
<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'; style-src 'none'">
<style>p { color: red }</style><img src="missing.png" alt=""><button></button><button>Named</button>
<script>console.warn("hm"); setTimeout(() => { throw new Error("oops") })</script>`))
	p.Wait(`document.readyState === "complete"`)
	Eval[int](p, `new Promise(done => setTimeout(() => done(1), 100)) && 1`)
	problems := strings.Join(p.Problems(), "\n")
	for _, want := range []string{"Content Security Policy", "oops", "console: warning", "ERR_FILE_NOT_FOUND"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is not among the problems:\n%s", want, problems)
		}
	}
	if got := p.Requests(); len(got) != 1 || !strings.HasSuffix(got[0], "/missing.png") {
		t.Errorf("requests: %q", got)
	}
	if got := p.Names(); !slices.Contains(got, Named{"button", ""}) || !slices.Contains(got, Named{"button", "Named"}) {
		t.Errorf("names: %q", got)
	}
}

func TestPage(t *testing.T) {
	b := Start(t)
	p := b.Open(t, file(t, `<!doctype html><title>t</title>
<style>:root { --c: light } @media (prefers-color-scheme: dark) { :root { --c: dark } } @media print { :root { --c: print } }</style>
<label>Name <input></label><button>Go</button>
<script>document.querySelector("button").onclick = () => document.title = "clicked " + document.querySelector("input").value</script>`))
	p.Press(kb.Tab + "web" + kb.Tab + kb.Enter)
	if got := Eval[string](p, "document.title"); got != "clicked web" {
		t.Errorf("title: %q", got)
	}
	p.Click("input")
	if got := Eval[string](p, "document.activeElement.tagName"); got != "INPUT" {
		t.Errorf("focus: %q", got)
	}
	for _, c := range []struct{ medium, colors, want string }{{"screen", "dark", "dark"}, {"screen", "light", "light"}, {"print", "dark", "print"}} {
		p.Media(c.medium, c.colors)
		if got := Eval[string](p, `getComputedStyle(document.documentElement).getPropertyValue("--c")`); strings.TrimSpace(got) != c.want {
			t.Errorf("%s in %s: %q", c.medium, c.colors, got)
		}
	}
	p.Size(400, 300)
	if got := Eval[int](p, "innerWidth"); got != 400 {
		t.Errorf("width: %d", got)
	}
	if got := p.LowContrast(); len(got) > 0 {
		t.Errorf("contrast: %q", got)
	}
	if got := p.Screenshot(); !strings.HasPrefix(string(got), "\x89PNG") {
		t.Errorf("screenshot: %.20q", got)
	}
	if len(p.Problems())+len(p.Requests()) > 0 {
		t.Errorf("problems: %q, requests: %q", p.Problems(), p.Requests())
	}
}
