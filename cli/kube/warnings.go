package kube

import (
	"fmt"
	"io"
	"sync"

	"github.com/pequod-io/pequod/internal/source"
)

// warnTo prints warnings of the API server.
func PrintWarnings(w io.Writer) func(string) {
	return func(text string) { fmt.Fprintln(w, "warning: "+text) }
}

// warnings passes on what the API server warns of, each text once.
type warnings struct {
	mu   sync.Mutex
	warn func(string)
	said map[string]bool
}

// HandleWarningHeader is called for each warning in an answer; 299 is the code
// of those that are meant for people.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code != 299 || text == "" || w.said[text] {
		return
	}
	w.said[text] = true
	w.warn(source.Escape(text, ""))
}
