package progress_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pequod-io/pequod/cli/progress"
)

// terminal collects what is drawn.
type terminal struct {
	mu    sync.Mutex
	text  strings.Builder
	drawn chan struct{}
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.drawn <- struct{}{}:
	default:
	}
	return t.text.Write(p)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// TestTransfer checks that a transfer is drawn only if it takes longer than the
// patience, and that nothing of it remains on the line.
func TestTransfer(t *testing.T) {
	short := &terminal{}
	quick := progress.NewTransfer(short, time.Hour)
	quick.Begin("web")
	quick.Advance("web", 1, 2)
	quick.End()
	if short.String() != "" {
		t.Errorf("short transfer: %q", short)
	}
	long := &terminal{drawn: make(chan struct{}, 1)}
	slow := progress.NewTransfer(long, 0)
	slow.Begin("web")
	slow.Begin("web") // a part of it
	<-long.drawn
	slow.End()
	slow.End()
	if want := "\r\x1b[Kweb\r\x1b[K"; long.String() != want {
		t.Errorf("long transfer: %q, want %q", long, want)
	}
	slow.Advance("web", 1, 2) // late
	if !strings.HasSuffix(long.String(), "\r\x1b[K") {
		t.Errorf("after the end: %q", long)
	}
}
