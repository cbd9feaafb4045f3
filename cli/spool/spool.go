// Package spool holds a program's output back until all of it is known to be
// good, so that a reader gets the whole or nothing, at the cost of little
// memory however long the output is.
//
//	out := spool.New(8 << 20)
//	defer out.Close()
//	... render into out ...
//	err := out.CopyTo(os.Stdout)
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Buffer is an io.Writer that keeps what is written to it: in memory up to a
// limit, beyond that in a temporary file. It isn't safe for concurrent use.
type Buffer struct {
	limit  int
	memory []byte
	file   *os.File
	name   string // of a file that couldn't be unlinked while open
}

// New returns an empty buffer that holds up to limit bytes in memory.
func New(limit int) *Buffer { return &Buffer{limit: limit} }

// Write appends to the buffer. It fails where the temporary file does: when
// there is no space for it.
func (b *Buffer) Write(p []byte) (int, error) {
	if b.file == nil && len(b.memory)+len(p) <= b.limit {
		b.memory = append(b.memory, p...)
		return len(p), nil
	}
	if b.file == nil {
		if err := b.spill(); err != nil {
			return 0, err
		}
	}
	n, err := b.file.Write(p)
	if err != nil {
		err = fmt.Errorf("holding back output: %w", err)
	}
	return n, err
}

// spill moves what is in memory to a file.
func (b *Buffer) spill() error {
	f, err := os.CreateTemp("", "pequod-out-*")
	if err != nil {
		return fmt.Errorf("holding back output: %w", err)
	}
	b.file = f
	// Where an open file can be unlinked, it vanishes even if we are killed.
	if os.Remove(f.Name()) != nil {
		b.name = f.Name()
	}
	if _, err := f.Write(b.memory); err != nil {
		return fmt.Errorf("holding back output: %w", err)
	}
	b.memory = nil
	return nil
}

// CopyTo writes everything from the beginning to w. It can be called again.
func (b *Buffer) CopyTo(w io.Writer) error {
	if b.file == nil {
		_, err := w.Write(b.memory)
		return err
	}
	size, err := b.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("reading back output: %w", err)
	}
	_, err = io.Copy(w, io.NewSectionReader(b.file, 0, size))
	return err
}

// Close drops what the buffer holds, and its file.
func (b *Buffer) Close() error {
	b.memory = nil
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	b.file = nil
	if b.name != "" {
		err = errors.Join(err, os.Remove(b.name))
		b.name = ""
	}
	return err
}
