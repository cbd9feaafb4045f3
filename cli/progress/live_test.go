package progress

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/style"
)

// screen emulates the part of a terminal that a tree needs: lines that wrap, a cursor
// that moves up, and text that is erased.
type screen struct {
	width int
	rows  []string
	row   int
	col   int
}

var sequence = regexp.MustCompile("^\x1b\\[([0-9]*)([A-Za-z])")

func (s *screen) Write(data []byte) (int, error) {
	text := string(data)
	for text != "" {
		if m := sequence.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				s.row = max(0, s.row-n)
			case "K":
				s.set(s.row, s.at(s.row)[:min(s.col, len(s.at(s.row)))])
			case "J":
				s.rows = s.rows[:min(len(s.rows), s.row)]
			}
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\n':
			s.row, s.col = s.row+1, 0
		case '\r':
			s.col = 0
		default:
			if s.col == s.width {
				s.row, s.col = s.row+1, 0
			}
			line := s.at(s.row)
			s.set(s.row, line[:min(s.col, len(line))]+"x"+line[min(s.col+1, len(line)):])
			s.col++
		}
	}
	return len(data), nil
}

func (s *screen) at(row int) string {
	if row < len(s.rows) {
		return s.rows[row]
	}
	return ""
}

func (s *screen) set(row int, text string) {
	for len(s.rows) <= row {
		s.rows = append(s.rows, "")
	}
	s.rows[row] = text
}

// resize wraps the lines again, as a terminal does when its window becomes narrower.
func (s *screen) resize(width int) {
	var rows []string
	for i, row := range s.rows {
		if i == s.row {
			s.row = len(rows)
		}
		for len(row) > width {
			rows, row = append(rows, row[:width]), row[width:]
		}
		rows = append(rows, row)
	}
	if s.row >= len(s.rows) {
		s.row = len(rows)
	}
	s.rows, s.width = rows, width
}

// After every drawing, warning and resize, the screen has the warnings and one tree.
func TestLive(t *testing.T) {
	s := &screen{width: 60}
	now := start
	l := &Live{
		term: Terminal{Writer: s, Size: func() (int, int) { return s.width, 30 }, Now: func() time.Time { return now }},
		tree: newTree(web(), start), stop: make(chan struct{}), done: make(chan struct{}),
	}
	close(l.done) // the test draws
	check := func(what string, above int) {
		t.Helper()
		lines := l.tree.frame(style.Painter{}, now, s.width-1, 0)
		if len(s.rows) != above+len(lines) || s.row != above+len(lines) || s.col != 0 {
			t.Fatalf("%s: %d rows, want %d; cursor in row %d:\n%s", what, len(s.rows), above+len(lines), s.row, strings.Join(s.rows, "\n"))
		}
		for i, line := range lines {
			if want := len([]rune(line)); len(strings.TrimRight(s.rows[above+i], " ")) != want {
				t.Errorf("%s: row %d has %d columns, want %d", what, i, len(s.rows[above+i]), want)
			}
		}
	}
	l.draw(false)
	check("at first", 0)
	for _, e := range history()[:8] {
		now = e.Time
		l.Change(shop, e)
		l.draw(false)
	}
	check("later", 0)
	s.resize(40)
	l.draw(false)
	check("narrower", 0)
	l.Warn("deprecated")
	check("with a warning", 1)
	l.Change(shop, at(16, object(key("", "ConfigMap", "old"), v1alpha1.NodeGone, engine.Deleted, "")))
	l.Finish(Outcome{Graph: shop})
	l.Close()
	check("at the end", 1)
}

// A tree that has not changed is not drawn again.
func TestLiveQuiet(t *testing.T) {
	var b strings.Builder
	l := &Live{
		term: Terminal{Writer: &b, Size: func() (int, int) { return 0, 0 }, Now: func() time.Time { return start }},
		tree: newTree(web(), start),
	}
	l.draw(false)
	once := b.String()
	l.draw(false)
	if diff := cmp.Diff(once, b.String()); diff != "" || once == "" {
		t.Error(diff)
	}
}

// In a small window, a tree of many nodes shows only the active ones.
func TestManyNodes(t *testing.T) {
	var nodes []Node
	for i := range 300 {
		nodes = append(nodes, Node{fmt.Sprintf("n%d", i), key("", "ConfigMap", fmt.Sprint(i)), i / 100})
	}
	tr := newTree([]Graph{{Owner: shop, Nodes: nodes}}, start)
	for i, n := range nodes[:120] {
		phase := v1alpha1.NodeReady
		if i >= 100 && i%4 == 0 {
			phase = v1alpha1.NodeProgressing
		}
		tr.change(shop, at(1, engine.Status{ID: n.ID, Key: n.Key, Wave: n.Wave, Phase: phase, Message: "waits"}))
	}
	var b strings.Builder
	for _, l := range tr.frame(style.Painter{}, start.Add(3*time.Second), 80, 10) {
		b.WriteString(l + "\n")
	}
	golden(t, "tree_many.txt", b.String())
}
