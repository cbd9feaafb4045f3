package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pequod-io/pequod/cli/style"
)

// Patience is the time after which a [Transfer] is shown. Most of them take less.
const Patience = 500 * time.Millisecond

// Transfer shows on a terminal that content is transferred, in one line that it removes
// at the end. Transfers that take less than its patience are not shown. It ignores write
// errors. Any number of goroutines may use it.
type Transfer struct {
	mu sync.Mutex // guards everything below
	w  io.Writer
	// patience is the time until the line appears.
	patience time.Duration
	// running counts the operations that have begun and not ended.
	running int
	timer   *time.Timer
	text    string
	shown   bool
	drawn   time.Time
}

// NewTransfer returns a Transfer that draws on the terminal w after patience.
func NewTransfer(w io.Writer, patience time.Duration) *Transfer {
	return &Transfer{w: w, patience: patience}
}

// Begin notes that an operation on name has begun. Each call needs a call of End.
func (t *Transfer) Begin(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = name
	if t.running++; t.running == 1 {
		t.timer = time.AfterFunc(t.patience, t.show)
	}
}

// Advance notes that done of total bytes of name are transferred. total is 0 if it is not
// known.
func (t *Transfer) Advance(name string, done, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == 0 {
		return
	}
	t.text = fmt.Sprintf("%s: %.1f MiB", name, float64(done)/(1<<20))
	if total > 0 {
		t.text = fmt.Sprintf("%s: %.1f of %.1f MiB", name, float64(done)/(1<<20), float64(total)/(1<<20))
	}
	if t.shown && time.Since(t.drawn) >= redrawInterval {
		t.draw()
	}
}

// End notes that an operation has ended. The last one removes the line.
func (t *Transfer) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.running > 0 {
		return
	}
	t.timer.Stop()
	if t.shown {
		fmt.Fprint(t.w, "\r\x1b[K")
	}
	t.shown = false
}

// show draws the line for the first time.
func (t *Transfer) show() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running > 0 {
		t.draw()
	}
}

// draw draws the line over the previous one. The caller holds the lock.
func (t *Transfer) draw() {
	text := []rune(t.text)
	if width := style.TerminalWidth(t.w); width > 0 && len(text) >= width {
		text = text[:width-1] // a line that wraps could not be removed
	}
	fmt.Fprintf(t.w, "\r\x1b[K%s", string(text))
	t.shown, t.drawn = true, time.Now()
}
