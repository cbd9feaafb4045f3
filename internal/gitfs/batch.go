package gitfs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// maxBlob is the size limit of a file that is read into memory, in bytes. It is that of files on disk.
const maxBlob = 256 << 20

// batch reads the contents of objects with one git process, which it starts for the first one. Any
// number of goroutines may use it. The process ends with the context of newBatch, or when close is called.
type batch struct {
	command func() (*exec.Cmd, error)
	failure func(error) error // the error of the process, with what it wrote to stderr

	mu     sync.Mutex // guards the fields below
	cmd    *exec.Cmd  // nil if no process was started
	pipes  []io.Closer
	in     io.Writer
	out    *bufio.Reader
	stderr bytes.Buffer
	ended  error // why nothing can be read anymore, or nil
}

// newBatch returns a batch for the repository of the working directory.
func newBatch(ctx context.Context) *batch {
	b := &batch{command: func() (*exec.Cmd, error) { return gitCommand(ctx, "", "cat-file", "--batch") }}
	b.failure = func(err error) error { return failure(ctx, err, b.stderr.String()) }
	context.AfterFunc(ctx, b.close)
	return b
}

// start starts the process unless it runs already.
func (b *batch) start() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready()
}

// ready is start for a caller that holds mu.
func (b *batch) ready() error {
	if b.cmd != nil || b.ended != nil {
		return b.ended
	}
	cmd, err := b.command()
	if err != nil {
		return err
	}
	cmd.Stderr = &b.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := start(cmd); err != nil {
		b.ended = b.failure(err)
		return b.ended
	}
	b.cmd, b.pipes, b.in, b.out = cmd, []io.Closer{in, out}, in, bufio.NewReaderSize(out, 1<<16)
	return nil
}

// close ends the process.
func (b *batch) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(errors.New("git cat-file: closed"))
}

// end ends the process, and returns its error, or err if it has none.
func (b *batch) end(err error) error {
	if b.ended != nil {
		return b.ended
	}
	if b.ended = err; b.cmd == nil {
		return err
	}
	for _, pipe := range b.pipes {
		pipe.Close() // the process ends
	}
	if failed := b.cmd.Wait(); failed != nil {
		b.ended = b.failure(failed)
	}
	return b.ended
}

// read calls use with the content of an object and its size in bytes. An error of use doesn't keep other objects
// from being read.
func (b *batch) read(object string, use func(content io.Reader, size int64) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.ready(); err != nil {
		return err
	}
	_, _ = io.WriteString(b.in, object+"\n") // if the process has ended, reading fails, too
	header, err := b.out.ReadString('\n')    // OBJECT SP TYPE SP SIZE
	if err != nil {
		return b.end(fmt.Errorf("git cat-file: %w", err))
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return fmt.Errorf("git cat-file: %s; get it with 'git fetch --refetch origin'", strings.TrimSpace(header)) // OBJECT missing
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return b.end(fmt.Errorf("git cat-file: %w", err))
	}
	content := &io.LimitedReader{R: b.out, N: size}
	failed := use(content, size)
	if _, err := io.CopyN(io.Discard, b.out, content.N+1); err != nil { // a line feed follows the content
		return b.end(fmt.Errorf("git cat-file: %w", err))
	}
	return failed
}

// blob returns the content of a file, or the target of a link.
func (b *batch) blob(object string) (data []byte, err error) {
	err = b.read(object, func(content io.Reader, size int64) error {
		if size > maxBlob {
			return fmt.Errorf("larger than %d MiB", maxBlob>>20)
		}
		data = make([]byte, size)
		_, err := io.ReadFull(content, data)
		return err
	})
	return data, err
}
