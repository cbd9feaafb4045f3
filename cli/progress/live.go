package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/inventory"
)

// Terminal is where a live tree is drawn.
type Terminal struct {
	Writer io.Writer
	// Size gives the columns and rows of the window, 0 where they aren't known.
	Size  func() (width, height int)
	Color bool
	// Now is the clock.
	Now func() time.Time
}

// redraw is how often the tree is drawn at most.
const redraw = 100 * time.Millisecond

// Live keeps a tree of graphs up to date on a terminal, in place. The cursor
// stays below the tree, so that whatever ends the program leaves the terminal
// as it should be.
type Live struct {
	mu    sync.Mutex
	term  Terminal
	tree  *tree
	drawn []int // the columns of the lines on the screen
	shown string
	stop  chan struct{}
	done  chan struct{}
}

// NewLive begins to draw; Close ends it.
func NewLive(term Terminal, graphs []Graph) *Live {
	l := &Live{term: term, tree: newTree(graphs, term.Now()), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *Live) run() {
	defer close(l.done)
	tick := time.NewTicker(redraw)
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

// Change notes a change; it is drawn soon.
func (l *Live) Change(graph inventory.Owner, e applier.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree.change(graph, e)
}

// Warn prints a warning above the tree.
func (l *Live) Warn(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := painter{l.term.Color}
	l.write(l.erase() + p.paint(yellow, "warning:") + " " + oneLine(text) + "\n")
	l.drawn, l.shown = nil, ""
	l.draw(false)
}

// End notes how it ended for a graph.
func (l *Live) End(e End) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.tree.branch(e.Graph); b != nil {
		b.end = &e
		// The result may know more than what was told last.
		if e.Result != nil {
			for _, s := range e.Result.Statuses {
				l.tree.change(e.Graph, applier.Event{Time: l.term.Now(), Status: s})
			}
		}
	}
}

// Close draws the tree for the last time, whole.
func (l *Live) Close() {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw(true)
}

// draw puts the tree where it was drawn before.
func (l *Live) draw(whole bool) {
	width, height := l.size()
	if whole {
		height = 0
	} else {
		height-- // the cursor stands below
	}
	lines := l.tree.frame(l.term.Now(), width-1, height)
	p := painter{l.term.Color}
	var b strings.Builder
	var drawn []int
	for _, line := range lines {
		b.WriteString(line.render(p) + "\x1b[K\n")
		drawn = append(drawn, line.columns())
	}
	if b.String() == l.shown {
		return
	}
	l.write(l.home() + b.String() + "\x1b[J")
	l.shown, l.drawn = b.String(), drawn
}

// home moves the cursor to where the tree begins. A window that became narrower
// has broken the lines that it holds.
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

func (l *Live) erase() string { return l.home() + "\x1b[J" }

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

// write drops errors: a terminal that is gone is no reason to stop what is
// being done to a cluster.
func (l *Live) write(text string) { _, _ = io.WriteString(l.term.Writer, text) }
