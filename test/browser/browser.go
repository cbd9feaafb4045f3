// Package browser opens HTML pages in a headless Chromium, for tests.
//
// [Start] is the entry point. A test opens pages by their address, presses keys, and
// evaluates JavaScript in them. Each [Page] records the requests that it sent and
// the problems that it had: errors of scripts, messages of the console, and whatever
// its Content-Security-Policy refused. [Page.Names] returns the accessible names
// that a screen reader would read.
package browser

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// timeout limits the time of one step, also on a slow and busy machine.
const timeout = 3 * time.Minute

// A Browser is a process with a profile of its own, which is empty at first.
type Browser struct{ ctx context.Context }

// Start starts a browser, which ends with the test. Without Chromium the test is
// skipped, but under CI=true it fails.
func Start(t testing.TB) *Browser {
	t.Helper()
	program := find()
	if program == "" {
		const reason = "no Chromium: install the package chromium of Debian, or set CHROMIUM to its path"
		if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(2 * time.Minute),
	}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync", "hide-scrollbars", "disable-dev-shm-usage",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	return &Browser{ctx}
}

// find returns the path of Chromium, or "".
func find() string {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
