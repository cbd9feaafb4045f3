// Package bodylimit bounds the bodies of answers that a server or its users choose the size of.
package bodylimit

import (
	"errors"
	"io"
)

var errTooLarge = errors.New("the answer is too large")

// New limits body to most bytes. Reading beyond the limit returns an error.
func New(body io.ReadCloser, most int64) io.ReadCloser { return &limited{body, most} }

type limited struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
