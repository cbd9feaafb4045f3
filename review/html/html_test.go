package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/test/browser"
)

// A report of some 500 changed objects has less than 900 kB, whether they change alike or
// each in its own way.
func TestSize(t *testing.T) {
	different := newReport(t, side(t, "base", 250, all), side(t, "head", 250, func(i int, s *service) bool {
		s.replicas, s.image = 4+i, fmt.Sprintf("registry.example.com/web:1.5.%d", i)
		return true
	}))
	single := newReport(t, side(t, "base", 250, all), side(t, "head", 250, func(i int, s *service) bool {
		s.replicas, s.image = 4+i, "registry.example.com/web:1.5.0"
		return true
	}))
	single.Groups = nil
	for i := range single.Instances {
		single.Instances[i].Group = i
		single.Groups = append(single.Groups, review.Group{Title: "image 1.4.0 → 1.5.0", Instances: []int{i}})
	}
	page := written(t, single, Options{})
	if drawn, left := strings.Count(page, "<svg"), strings.Count(page, "No drawing:"); drawn != maxDrawings || drawn+left != 250 {
		t.Errorf("%d drawings, %d left out", drawn, left)
	}
	for name, r := range map[string]*review.Report{"single": single, "mixed": report(t, 500), "different": different, "new": newReport(t, review.Tree{}, side(t, "head", 75, all))} {
		objects := 0
		for i := range r.Instances {
			objects += len(r.Instances[i].Objects)
		}
		size := len(written(t, r, Options{}))
		t.Logf("%s: %d objects, %d bytes", name, objects, size)
		if objects < 350 || size > 900_000 {
			t.Errorf("%s: %d objects, %d bytes", name, objects, size)
		}
	}
}

func all(int, *service) bool { return true }

// 500 equal changes are one entry, which lists their instances.
func TestEqualChanges(t *testing.T) {
	page := written(t, newReport(t, side(t, "base", 500, all), side(t, "head", 500, func(_ int, s *service) bool {
		s.image = "registry.example.com/web:1.5.0"
		return true
	})), Options{})
	if n := strings.Count(page, `<details class="entry`); n != 1 {
		t.Errorf("%d entries", n)
	}
	if !strings.Contains(page, "apps/payments/web-499.yaml:1") || len(page) > 150_000 {
		t.Errorf("an instance is missing, or %d bytes are too many", len(page))
	}
}

func TestSecretsAreMasked(t *testing.T) {
	if page := written(t, report(t, 20), Options{}); strings.Contains(page, "hunter2") || strings.Contains(page, "correct horse") {
		t.Error("the page has the value of a Secret")
	}
}

func TestPlaces(t *testing.T) {
	at := problem.Position{File: "apps/a b#?.yaml", Line: 7, Column: 3}
	for source, want := range map[string]fileLink{
		"": {Text: "apps/a b#?.yaml:7"},
		"https://example.com/blob/1a2b/{file}#L{line}": {Text: "apps/a b#?.yaml:7", Href: "https://example.com/blob/1a2b/apps/a%20b%23%3F.yaml#L7"},
		"javascript:alert(1)":                          {Text: "apps/a b#?.yaml:7"},
	} {
		if got := (Options{Source: source}).fileLink(at, at.File); got != want {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}

// hostile is text that would be markup, scripts, commands or invisible if it weren't
// escaped.
const hostile = "\"'><script>document.title='bad'</script></details></pre></script><!--<img src=x onerror=\"document.title='bad'\"> {{.}} @team `x` \x1b[31m\u202e javascript:alert(1)"

// hostileReport has text wherever strangers can write one.
func hostileReport(t *testing.T, text string) *review.Report {
	t.Helper()
	r := report(t, 20)
	r.Base.Name, r.Head.Tool, r.Link = text, text, text
	for i := range r.Unknown {
		r.Unknown[i].Subject, r.Unknown[i].Instances = text, []string{text, text}
		r.Unknown[i].Problems = problem.List{{Position: problem.Position{File: text, Line: 1}, Path: text, Message: text, Hint: text}}
	}
	for i := range r.Dangers {
		r.Dangers[i].Message, r.Dangers[i].Path = text, text
	}
	for i := range r.Inputs {
		r.Inputs[i].Name, r.Inputs[i].Notes, r.Inputs[i].Breaking = text, []string{text}, []string{text}
	}
	for i := range r.Groups {
		r.Groups[i].Title = text
	}
	for i := range r.Instances {
		in := &r.Instances[i]
		in.Name, in.Namespace, in.At.File = text, text, text
		for k := range in.Objects {
			o := &in.Objects[k]
			o.Namespace, o.Kind = text, text
			for w := range o.Warnings {
				o.Warnings[w].Message = text
			}
			for c := range o.Consequences {
				o.Consequences[c].Reason, o.Consequences[c].Path = text, text
			}
		}
	}
	return r
}

// Any text changes nothing but itself: the page has the same elements and runs no
// script of others.
func TestHostileText(t *testing.T) {
	const shape = `[document.title.slice(0, 7), ...[...document.querySelectorAll("*")].map(e => e.tagName)].join(" ")`
	b := browser.Start(t)
	plain := open(t, b, hostileReport(t, "plain"), Options{})
	bad := open(t, b, hostileReport(t, hostile), Options{Source: "https://example.com/{file}#L{line}"})
	want := browser.Eval[string](plain, shape)
	// Positions are links only on the second page.
	got := strings.ReplaceAll(browser.Eval[string](bad, shape), " A", "")
	if want = strings.ReplaceAll(want, " A", ""); got != want {
		t.Errorf("%d and %d elements", strings.Count(want, " "), strings.Count(got, " "))
	}
	if n := browser.Eval[int](bad, `[...document.querySelectorAll("a")].filter(a => !["https:", "file:", "about:"].includes(a.protocol || "file:") && a.getAttribute("href")[0] !== "#").length`); n > 0 {
		t.Errorf("%d links lead elsewhere", n)
	}
	if page := written(t, hostileReport(t, hostile), Options{}); strings.ContainsAny(page, "\x1b\u202e") {
		t.Error("the page has invisible characters")
	}
}

// Values are escaped, too, and long ones are cut with a remark.
func TestHostileValues(t *testing.T) {
	change := func(text string) func(int, *service) bool {
		return func(_ int, s *service) bool { s.image = `"` + text + `"`; return true }
	}
	const value = `<script>alert(1)</script></ins></pre>&amp;<b>`
	page := written(t, newReport(t, side(t, "base", 2, all), side(t, "head", 2, change(value))), Options{})
	if strings.Contains(page, value) || !strings.Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;&lt;/ins&gt;&lt;/pre&gt;&amp;amp;&lt;b&gt;") {
		t.Error("a value is not escaped")
	}
	long := written(t, newReport(t, side(t, "base", 2, all), side(t, "head", 2, change(strings.Repeat("x", 1<<20)))), Options{})
	if len(long) > 100_000 || !strings.Contains(long, "more bytes)") {
		t.Errorf("%d bytes for a value of 1 MB", len(long))
	}
}
