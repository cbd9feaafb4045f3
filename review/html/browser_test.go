package html

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/test/browser"
)

// open writes a report to a file and opens it. When the test ends, the page must have
// sent no requests and had no problems.
func open(t *testing.T, b *browser.Browser, r *review.Report, o Options) *browser.Page {
	t.Helper()
	path := filepath.Join(t.TempDir(), "review.html")
	if err := os.WriteFile(path, []byte(written(t, r, o)), 0o644); err != nil {
		t.Fatal(err)
	}
	p := b.Open(t, (&url.URL{Scheme: "file", Path: path}).String())
	t.Cleanup(func() {
		if problems, requests := p.Problems(), p.Requests(); len(problems)+len(requests) > 0 {
			t.Errorf("problems %q, requests %q", problems, requests)
		}
	})
	return p
}

// visible lists the objects that the filter shows.
func visible(p *browser.Page) []string {
	return browser.Eval[[]string](p, `[...document.querySelectorAll(".entry")].filter(e => e.checkVisibility()).map(e => e.querySelector(".object").textContent.trim())`)
}

func focused(p *browser.Page) string {
	return browser.Eval[string](p, `document.activeElement.closest(".entry")?.querySelector(".object").textContent.trim() ?? document.activeElement.id`)
}

func TestFilter(t *testing.T) {
	p := open(t, browser.Start(t), report(t, 500), Options{})
	count := func() string { return browser.Eval[string](p, `document.querySelector("#count").textContent`) }
	whole := count()
	if !strings.HasPrefix(whole, "359 of 359 ") {
		t.Errorf("at first: %s", whole)
	}
	// An object in a group of equal changes is found by the name of its instance, and
	// only that instance is shown.
	p.Press("/web-418 Deployment")
	if got := count(); got != "1 of 359 changed objects" {
		t.Errorf("web-418: %s", got)
	}
	instances := browser.Eval[[]string](p, `[...document.querySelectorAll(".instances > li:not([hidden])")].filter(e => !e.closest("[hidden]")).map(e => e.textContent)`)
	if len(instances) != 1 || !strings.Contains(instances[0], "apps/payments/web-418.yaml:1") {
		t.Errorf("instances: %q", instances)
	}
	// One with values of its own has its own entry.
	p.Press(kb.Escape + "/web-417")
	if got := visible(p); !slices.Equal(got, []string{"ConfigMap shop/web-417-settings", "Deployment shop/web-417"}) {
		t.Errorf("web-417: %q", got)
	}
	p.Press("-nothing")
	if got := visible(p); len(got) != 0 || !browser.Eval[bool](p, `document.querySelector("#nothing").checkVisibility()`) {
		t.Errorf("no match: %q", got)
	}
	p.Click("#clear")
	if got := count(); got != whole {
		t.Errorf("cleared: %s", got)
	}
	p.Click(`#filter .chip[data-effect=lost]`)
	if got := visible(p); !slices.Contains(got, "StatefulSet shop/web-003-db") || slices.Contains(got, "Deployment search/web-002") {
		t.Errorf("lost: %q", got)
	}
	p.Click(`#filter .chip[data-effect=lost]`)
	browser.Eval[bool](p, `(document.querySelector("#kind").value = "Secret", document.querySelector("#kind").dispatchEvent(new Event("input", {bubbles: true})))`)
	for _, name := range visible(p) {
		if !strings.HasPrefix(name, "Secret ") {
			t.Errorf("kind Secret: %s", name)
		}
	}
}

// Everything is reached without a mouse.
func TestKeyboard(t *testing.T) {
	p := open(t, browser.Start(t), report(t, 20), Options{})
	p.Press("j")
	first := focused(p)
	p.Press("j")
	second := focused(p)
	p.Press("k")
	if first == "" || second == first || focused(p) != first {
		t.Errorf("j goes to %s and %s, k back to %s", first, second, focused(p))
	}
	p.Press(kb.Enter)
	if !browser.Eval[bool](p, `document.activeElement.closest(".entry").open && document.querySelector(".entry[open] pre.diff").checkVisibility()`) {
		t.Error("Enter does not open the object")
	}
	p.Press("s")
	rows := browser.Eval[[][]string](p, `[...document.querySelectorAll(".entry[open] .sidebyside tr")].map(r => [...r.cells].map(c => c.textContent.trim()))`)
	if !slices.ContainsFunc(rows, func(r []string) bool {
		return strings.HasPrefix(r[0], "-") && strings.HasPrefix(r[1], "+") && strings.Contains(r[0], "web:1.4.0") && strings.Contains(r[1], "web:1.5.0")
	}) {
		t.Errorf("side by side: %q", rows)
	}
	p.Press("e")
	if n := browser.Eval[int](p, `document.querySelectorAll(".entry:not([open])").length`); n != 0 {
		t.Errorf("e leaves %d objects closed", n)
	}
	p.Press("/")
	if got := focused(p); got != "find" {
		t.Errorf("/ goes to %q", got)
	}
	// The link of a danger opens its object, although the filter hides it.
	p.Press("web-010")
	browser.Eval[bool](p, `document.querySelector(".alert a[href^='#o']").focus() ?? true`)
	p.Press(kb.Enter)
	p.Wait(`document.activeElement.closest(".entry")?.open && document.activeElement.closest(".entry").checkVisibility()`)
}

// A screen reader reads the name of each element that can be used, and what signs and
// colors say.
func TestNames(t *testing.T) {
	p := open(t, browser.Start(t), report(t, 20), Options{})
	names := p.Names()
	for _, n := range names {
		if slices.Contains([]string{"button", "link", "searchbox", "combobox", "heading", "DisclosureTriangle"}, n.Role) && strings.TrimSpace(n.Name) == "" {
			t.Errorf("a %s has no name", n.Role)
		}
	}
	for _, want := range []browser.Named{
		{Role: "searchbox", Name: "Find"}, {Role: "combobox", Name: "Namespace"}, {Role: "combobox", Name: "Kind"},
		{Role: "button", Name: "Side by side"}, {Role: "search", Name: "Filter the changes"}, {Role: "image", Name: "added"},
		{Role: "heading", Name: "Dangers"}, {Role: "link", Name: "app, Deployment/web-010, changed, waits for settings, database"},
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%v is missing", want)
		}
	}
	if t.Failed() {
		t.Logf("%q", names)
	}
}

// Colors follow the system, and text is readable in both. Paper is light and has no
// folds and no filter.
func TestMedia(t *testing.T) {
	p := open(t, browser.Start(t), report(t, 20), Options{})
	for _, c := range []struct{ medium, colors, background string }{
		{"screen", "light", "rgb(255, 255, 255)"}, {"screen", "dark", "rgb(13, 17, 23)"}, {"print", "dark", "rgb(255, 255, 255)"},
	} {
		p.Media(c.medium, c.colors)
		if got := browser.Eval[string](p, `getComputedStyle(document.body).backgroundColor`); got != c.background {
			t.Errorf("%s, %s: background %s", c.medium, c.colors, got)
		}
		for _, bad := range p.LowContrast() {
			t.Errorf("%s, %s: %s", c.medium, c.colors, bad)
		}
	}
	browser.Eval[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	if browser.Eval[bool](p, `document.querySelector("#filter").checkVisibility()`) {
		t.Error("the filter is printed")
	}
	if n := browser.Eval[int](p, `[...document.querySelectorAll(".entry pre")].filter(e => !e.checkVisibility()).length`); n > 0 {
		t.Errorf("%d objects are printed closed", n)
	}
}

// On a narrow screen the page does not scroll sideways.
func TestNarrow(t *testing.T) {
	p := open(t, browser.Start(t), report(t, 20), Options{})
	p.Size(400, 800)
	p.Press("e")
	if width := browser.Eval[int](p, "document.documentElement.scrollWidth"); width > 400 {
		t.Errorf("the page is %d pixels wide", width)
	}
}
