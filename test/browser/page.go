package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A Page is a tab of a browser.
type Page struct {
	t   testing.TB
	ctx context.Context
	url string

	mu       sync.Mutex
	requests []string
	problems []string
}

// Open opens a page in a window of 1280 × 900 pixels and waits until it is loaded.
func (b *Browser) Open(t testing.TB, url string) *Page {
	t.Helper()
	p := &Page{t: t, url: url}
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithListener(p.record))
	t.Cleanup(closeTab)
	p.ctx = ctx
	p.do(chromedp.EmulateViewport(1280, 900))
	p.do(chromedp.Navigate(url))
	return p
}

// record stores requests and problems. The browser calls it for every event.
func (p *Page) record(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, fmt.Sprintf("exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		p.problems = append(p.problems, fmt.Sprintf("console: %s", e.Type))
	case *log.EventEntryAdded:
		p.problems = append(p.problems, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
	}
}

// Requests returns the addresses that the page asked for besides its own.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var others []string
	for _, url := range p.requests {
		if url != p.url {
			others = append(others, url)
		}
	}
	return others
}

// Problems returns the errors and messages of the page.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// do runs a step with a time limit.
func (p *Page) do(step chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	run(p, step)
}

func run[T any](p *Page, step chromedp.Action[T]) T {
	p.t.Helper()
	value, err := try(p, step)
	if err != nil {
		p.t.Fatalf("%s: %v", p.url, err)
	}
	return value
}

// try is run for a step that may fail.
func try[T any](p *Page, step chromedp.Action[T]) (T, error) {
	p.t.Helper()
	// The first step of a context opens its tab, which must live longer than the step.
	if chromedp.FromContext(p.ctx).Target == nil {
		if err := chromedp.Do(p.ctx); err != nil {
			p.t.Fatalf("%s: %v", p.url, err)
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	return chromedp.Run(ctx, step)
}

// Eval returns the value of a JavaScript expression.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return run(p, chromedp.Evaluate[T](expression))
}

// Wait waits until a JavaScript expression is true. The page may lead to another one
// meanwhile.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	for end := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		done, err := try(p, chromedp.Evaluate[bool]("!!("+expression+")"))
		switch {
		case err != nil && !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context was destroyed"):
			p.t.Fatalf("%s: %v", p.url, err)
		case done && err == nil:
			return
		case time.Now().After(end):
			p.t.Fatalf("%s: not true: %s", p.url, expression)
		}
	}
}

// Press types keys into the focused element. Package chromedp/kb has the names of
// keys that are no characters.
//
// Unlike those of chromedp, the events are the ones of a keyboard: a script that
// handles a key keeps its character from being typed.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for _, r := range keys {
			events := kb.Encode(r)
			if len(events) == 3 {
				events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
				events = []*input.DispatchKeyEventParams{events[0], events[2]}
			}
			for _, e := range events {
				if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// Click clicks on the element that a CSS selector finds. A script may move the
// element in the document meanwhile: the browser then gives it a new id, and it is
// looked up again. These errors come before the mouse button is pressed.
func (p *Page) Click(selector string) {
	p.t.Helper()
	for end := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		_, err := try(p, chromedp.Click(chromedp.CSS(selector)))
		moved := err != nil && (strings.Contains(err.Error(), "Could not find node") || strings.Contains(err.Error(), "Node is detached"))
		switch {
		case err == nil:
			return
		case !moved || time.Now().After(end):
			p.t.Fatalf("%s: click on %s: %v", p.url, selector, err)
		}
	}
}

// Media sets the type of the medium, screen or print, and the preferred colors,
// light or dark.
func (p *Page) Media(medium, colors string) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colors}},
		})
		return err
	}))
}

// Size sets the size of the window in pixels.
func (p *Page) Size(width, height int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

// Screenshot returns the visible part of the page as PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	return run(p, chromedp.CaptureScreenshot())
}

// A Named is an element as assistive technology sees it.
type Named struct{ Role, Name string }

// Names returns the elements of the accessibility tree that have a role of their
// own, in the order of the page.
func (p *Page) Names() []Named {
	p.t.Helper()
	tree := run(p, func(ctx context.Context, _ *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
		return chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	var names []Named
	for _, n := range tree.Nodes {
		if role := text(n.Role); !n.Ignored && role != "" && role != "none" && role != "generic" {
			names = append(names, Named{role, text(n.Name)})
		}
	}
	return names
}

func text(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var s string
	_ = json.Unmarshal(v.Value, &s) // other values than strings are no names
	return s
}
