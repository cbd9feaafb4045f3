package kube

import (
	"fmt"
	"io"
	"sync"

	"github.com/pequod-io/pequod/internal/source"
)

// PrintWarnings returns a function that prints warnings of the API server to w,
// in the form "warning: TEXT". Commands with a display of progress pass their
// warnings to the display instead.
func PrintWarnings(w io.Writer) func(string) {
	return func(text string) { fmt.Fprintln(w, "warning: "+text) }
}

// warnings is the handler of warnings of the API server. It passes each text on
// once, however many requests return it. It is safe for concurrent use.
type warnings struct {
	mu   sync.Mutex // guards said, and serializes calls of warn
	warn func(string)
	said map[string]bool // the texts that were passed on
}

// HandleWarningHeader implements rest.WarningHandler: client-go calls it for each
// Warning header of a response. Kubernetes uses code 299 for warnings to users.
// Control characters in the text are escaped, because webhooks may write it.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code != 299 || text == "" || w.said[text] {
		return
	}
	w.said[text] = true
	w.warn(source.Escape(text, ""))
}
