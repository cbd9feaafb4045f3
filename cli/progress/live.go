package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/inventory"
)

// Terminal is the terminal on which a [Live] tree is drawn.
type Terminal struct {
	Writer io.Writer
	// Size returns the columns and rows of the window, or 0 if they are unknown.
	Size  func() (width, height int)
	Color bool
	// Now is the clock.
	Now func() time.Time
}

// redrawInterval is the shortest time between two drawings of the tree. The times
// in the tree have tenths of a second, so drawing more often would show nothing
// more.
const redrawInterval = 100 * time.Millisecond

// Live is a [Sink] that keeps a tree of graphs up to date on a terminal, in place.
// Between drawings the cursor stands below the tree and no terminal mode is
// changed, so a program that is killed leaves the terminal usable.
type Live struct {
	mu    sync.Mutex // guards everything below
	term  Terminal
	tree  *tree
	drawn []int  // the widths of the lines on the screen, in columns
	shown string // the text on the screen, to skip equal frames
	stop  chan struct{}
	done  chan struct{} // closed when run has returned
}

// NewLive starts to draw graphs. The caller must call Close to stop it.
func NewLive(term Terminal, graphs []Graph) *Live {
	l := &Live{term: term, tree: newTree(graphs, term.Now()), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// run draws at intervals until Close. Changes only update the tree, so the cost of
// drawing does not grow with their number.
func (l *Live) run() {
	defer close(l.done)
	tick := time.NewTicker(redrawInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.mu.Lock()
			l.draw(false)
			l.mu.Unlock()
		case <-l.stop:
			return
		}
	}
}

// Change records a change for the next drawing.
func (l *Live) Change(graph inventory.Owner, e applier.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree.change(graph, e)
}

// Warn prints a warning above the tree. It erases the tree, prints the warning in
// its place, and draws the tree again below.
func (l *Live) Warn(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := style.Painter{Color: l.term.Color}
	l.write(l.home() + clearBelow + p.Paint(style.Yellow, "warning:") + " " + oneLine(text) + "\n")
	l.drawn, l.shown = nil, ""
	l.draw(false)
}

// Finish records the outcome of a graph, and the final status of its objects: the
// result may be newer than the last change.
func (l *Live) Finish(o Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.tree.branch(o.Graph); b != nil {
		b.outcome = &o
		if o.Result != nil {
			for _, s := range o.Result.Statuses {
				l.tree.change(o.Graph, applier.Event{Time: l.term.Now(), Status: s})
			}
		}
	}
}

// Close stops drawing and leaves the whole tree on the screen, even if it is
// longer than the window.
func (l *Live) Close() {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw(true)
}

// The escape sequences that erase the rest of a line and of the screen.
const (
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// draw replaces the tree on the screen. With whole, the height of the window does
// not limit it.
func (l *Live) draw(whole bool) {
	width, height := l.size()
	if whole {
		height = 0
	} else {
		height-- // the row of the cursor
	}
	p := style.Painter{Color: l.term.Color}
	var b strings.Builder
	var drawn []int
	for _, line := range l.tree.frame(p, l.term.Now(), width-1, height) {
		b.WriteString(line + clearLine + "\n")
		drawn = append(drawn, style.Width(line))
	}
	if b.String() == l.shown {
		return
	}
	l.write(l.home() + b.String() + clearBelow)
	l.shown, l.drawn = b.String(), drawn
}

// home returns the escape sequence that moves the cursor to the first row of the
// tree. If the window became narrower since the last drawing, the terminal has
// wrapped lines that are too long now, so the tree takes more rows.
func (l *Live) home() string {
	width, height := l.size()
	rows := 0
	for _, n := range l.drawn {
		rows += max(1, (n+width-1)/width)
	}
	if rows = min(rows, height-1); rows == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows)
}

// size returns the size of the window, or 80×24 if it is unknown or too small.
func (l *Live) size() (width, height int) {
	width, height = l.term.Size()
	if width < 10 {
		width = 80
	}
	if height < 3 {
		height = 24
	}
	return width, height
}

// write ignores errors: a closed terminal must not stop changes in a cluster.
func (l *Live) write(text string) { _, _ = io.WriteString(l.term.Writer, text) }
