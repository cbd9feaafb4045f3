// Package spool buffers the output of a program until it is complete, so that a
// reader gets all of it or nothing. It uses a bounded amount of memory: large output
// moves to a temporary file.
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

// Buffer is an io.Writer that keeps all data: in memory up to a limit, and beyond
// that in a temporary file. It is not safe for concurrent use.
type Buffer struct {
	limit  int      // of memory, in bytes
	memory []byte   // empty once file is set
	file   *os.File // nil while everything fits in memory
	name   string   // of a file that can't be removed while it is open
}

// New returns an empty buffer that keeps up to limit bytes in memory.
func New(limit int) *Buffer { return &Buffer{limit: limit} }

// Write appends to the buffer. It fails only if writing the temporary file fails,
// for example on a full disk.
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
		err = fmt.Errorf("buffering output: %w", err)
	}
	return n, err
}

// spill moves the data in memory to a temporary file.
func (b *Buffer) spill() error {
	f, err := os.CreateTemp("", "pequod-out-*")
	if err != nil {
		return fmt.Errorf("buffering output: %w", err)
	}
	b.file = f
	// On Unix, an open file can be removed: then nothing is left behind even if
	// the process is killed.
	if os.Remove(f.Name()) != nil {
		b.name = f.Name()
	}
	if _, err := f.Write(b.memory); err != nil {
		return fmt.Errorf("buffering output: %w", err)
	}
	b.memory = nil
	return nil
}

// CopyTo writes all data to w. It can be called several times.
func (b *Buffer) CopyTo(w io.Writer) error {
	if b.file == nil {
		_, err := w.Write(b.memory)
		return err
	}
	size, err := b.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("reading buffered output: %w", err)
	}
	_, err = io.Copy(w, io.NewSectionReader(b.file, 0, size))
	return err
}

// Close discards the data and removes the temporary file.
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
