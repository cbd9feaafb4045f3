package graphview

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/browser"
)

// The page and the document work from a disk: they send no requests, refuse nothing
// of their own, and a screen reader reads what the boxes show.
func TestBrowser(t *testing.T) {
	b := browser.Start(t)
	for _, name := range []string{"two.html", "two.svg"} {
		path, err := filepath.Abs(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		p := b.Open(t, (&url.URL{Scheme: "file", Path: path}).String())
		if problems, requests := p.Problems(), p.Requests(); len(problems)+len(requests) > 0 {
			t.Errorf("%s: problems %q, requests %q", name, problems, requests)
		}
		names := p.Names()
		for _, want := range []browser.Named{
			{Role: "list", Name: "shop-99aabbcc (Shop shop): 6 nodes, 3 waves"},
			{Role: "listitem", Name: "service, Service/web, ready: kstatus, wave 2, waits for deployment"},
		} {
			if !slices.Contains(names, want) {
				t.Errorf("%s: %v is not in the accessibility tree", name, want)
			}
		}
		light := browser.Eval[string](p, `getComputedStyle(document.querySelector(".g-node rect")).fill`)
		p.Media("screen", "dark")
		if dark := browser.Eval[string](p, `getComputedStyle(document.querySelector(".g-node rect")).fill`); dark == light || !strings.HasPrefix(dark, "rgb") {
			t.Errorf("%s: boxes are %s in light and %s in dark", name, light, dark)
		}
	}
}

// On a narrow screen the drawing scrolls, not the page.
func TestBrowserNarrow(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("testdata", "two.html"))
	if err != nil {
		t.Fatal(err)
	}
	p := browser.Start(t).Open(t, (&url.URL{Scheme: "file", Path: path}).String())
	p.Size(400, 800)
	if width := browser.Eval[int](p, "document.documentElement.scrollWidth"); width > 400 {
		t.Errorf("the page is %d pixels wide", width)
	}
	if width := browser.Eval[int](p, `document.querySelectorAll(".scroll")[1].scrollWidth`); width < 600 {
		t.Errorf("the drawing is %d pixels wide", width)
	}
}
