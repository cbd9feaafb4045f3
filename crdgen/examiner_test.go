package crdgen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// examineEnv tells the test program that it is an examiner's child.
const examineEnv = "PEQUOD_TEST_EXAMINE"

// maxStack is what the child may recurse into, in bytes. It is far more than any
// schema of the grammar needs.
const maxStack = 64 << 20

// TestExaminer is the child: it examines what it reads, until there is no more.
func TestExaminer(t *testing.T) {
	if os.Getenv(examineEnv) == "" {
		t.Skip("is the child process of FuzzParity")
	}
	debug.SetMaxStack(maxStack)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	names := testNames()
	for {
		var data []byte
		if err := in.Decode(&data); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if err := out.Encode(examine(names, data)); err != nil {
			t.Fatal(err)
		}
	}
}

// examiner examines in a child process, which it starts when there is none: CUE
// v0.17.1 overflows the stack over some schemas, and that ends a process.
type examiner struct {
	child    *exec.Cmd
	requests io.WriteCloser
	in       *json.Encoder
	out      *json.Decoder
	// dying is what the child says when it ends.
	dying *bytes.Buffer
	// gaveUp counts what CUE couldn't evaluate.
	gaveUp int
}

func (x *examiner) start() error {
	x.child = exec.Command(os.Args[0], "-test.run=^TestExaminer$", "-test.timeout=0")
	x.child.Env = append(os.Environ(), examineEnv+"=1")
	x.dying = &bytes.Buffer{}
	x.child.Stderr = x.dying
	in, err := x.child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := x.child.StdoutPipe()
	if err != nil {
		return err
	}
	x.requests, x.in, x.out = in, json.NewEncoder(in), json.NewDecoder(out)
	return x.child.Start()
}

// examine gives an error where the child ended, and CUE wasn't the cause.
func (x *examiner) examine(data []byte) (found finding, err error) {
	if x.child == nil {
		if err := x.start(); err != nil {
			return found, err
		}
	}
	// Its stack then shows where it hangs.
	hung := time.AfterFunc(time.Minute, func() { _ = x.child.Process.Signal(syscall.SIGQUIT) })
	defer hung.Stop()
	if err = x.in.Encode(data); err == nil {
		err = x.out.Decode(&found)
	}
	if err == nil {
		return found, nil
	}
	_ = x.child.Wait() // its stack says more than its exit code
	x.child = nil
	if !cueOverflowed(x.dying.String()) {
		return found, fmt.Errorf("%w; the child said:\n%s", err, x.dying)
	}
	x.gaveUp++
	return finding{}, nil
}

func (x *examiner) stop() {
	if x.child == nil {
		return
	}
	_ = x.requests.Close()
	_ = x.child.Wait()
}

// cueOverflowed says whether a process ended because CUE recursed without end, by
// what it printed of its stack: the innermost frames, where recursion through
// Pequod's own code would show.
func cueOverflowed(dump string) bool {
	_, stack, ok := strings.Cut(dump, "fatal error: stack overflow")
	inner, _, _ := strings.Cut(stack, "frames elided")
	return ok && strings.Contains(inner, "cuelang.org/go/internal/") && !strings.Contains(inner, "pequod/crdgen")
}

// overflowing is for a schema in which a bound meets a struct whose only field
// hangs on a condition.
var overflowing = []byte("\xd9\xc0#^\xe1\x06.k\x0fzsj\x84\xefB\xbf\x10\x00\x19z\xc3\x13\v\x9aQ\x8e^͜\x1d\x92\xe0\r\xf4\x15R\xc7\xd8\x1c\xc3z\xbdz3n(\xb3;\x82\xe1h\xbfP0\x8cϑk\xb3\x98\rpT\xb4\xb6Ĕ5\v\":2D8\xa8\xb8\x83\x95\xe5d\xb1\xf6\xfc\xfa\x00\x00")

// TestExaminerSurvives gives the examiner a schema that CUE can't evaluate, and
// asks it for another one after that.
func TestExaminerSurvives(t *testing.T) {
	if os.Getenv(examineEnv) != "" {
		t.Skip("is for the parent process")
	}
	x := &examiner{}
	defer x.stop()
	for _, want := range []int{1, 1, 2} {
		data := overflowing
		if x.gaveUp == want {
			data = []byte("0")
		}
		found, err := x.examine(data)
		if err != nil || found.Problem != "" {
			t.Fatal(err, found.Problem)
		}
		if x.gaveUp != want {
			t.Errorf("gave up %d times; want %d", x.gaveUp, want)
		}
		if generates := data[0] == '0'; found.Generates != generates {
			t.Errorf("generates %v; want %v", found.Generates, generates)
		}
	}
}
