package worker

import (
	"bytes"
	"sync"

	"github.com/go-logr/logr"
)

// The limits of what a process may print: the length of a line, and the number of lines.
const (
	maxLine  = 1 << 10
	maxLines = 100
)

// output logs what a process prints to its standard error, line by line. What exceeds the
// limits is dropped.
type output struct {
	log logr.Logger

	mu    sync.Mutex
	line  []byte // the beginning of the current line
	first string // the first line
	lines int
}

// Write logs the complete lines in data. It has no errors.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(data)
	for len(data) > 0 {
		line, rest, ends := bytes.Cut(data, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), maxLine-len(o.line))]...)
		if data = rest; ends {
			o.end()
		}
	}
	return n, nil
}

// end logs the current line.
func (o *output) end() {
	if text := string(bytes.TrimSpace(o.line)); text != "" {
		if o.lines++; o.lines <= maxLines {
			o.log.Info("Evaluation process printed", "line", text)
		}
		if o.first == "" {
			o.first = text
		}
	}
	o.line = o.line[:0]
}

// reason returns the first line that the process printed, which is the cause where Go prints
// a stack trace.
func (o *output) reason() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
	return o.first
}
