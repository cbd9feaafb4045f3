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

// examineEnv makes the test program an examiner's child.
const examineEnv = "PEQUOD_TEST_EXAMINE"

// maxStack is the stack size of the child in bytes. It is far more than any
// schema of the grammar needs.
const maxStack = 64 << 20

// TestExaminer is the child: it examines specimens from stdin until its end.
func TestExaminer(t *testing.T) {
	if os.Getenv(examineEnv) == "" {
		t.Skip("is the child process of FuzzParity")
	}
	debug.SetMaxStack(maxStack)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	names := testNames()
	for {
		var it specimen
		if err := in.Decode(&it); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		enter := func(s stage) { _ = out.Encode(report{Stage: s}) }
		enter(evaluating)
		found := examine(names, it, enter)
		if err := out.Encode(report{Finding: &found}); err != nil {
			t.Fatal(err)
		}
	}
}

// report is a message of the child: the stage that it enters, and finally its
// finding.
type report struct {
	Stage   stage
	Finding *finding
}

// examiner examines schemas in a child process, which it restarts after it ended:
// CUE v0.17.1 overflows the stack with some schemas, and that ends the process.
type examiner struct {
	child    *exec.Cmd
	requests io.WriteCloser
	in       *json.Encoder
	out      *json.Decoder
	// dying is the last output of the child.
	dying *bytes.Buffer
	// gaveUp counts the schemas that CUE couldn't evaluate.
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

// examine returns an error if the child ended, unless CUE alone was the cause:
// the generator has to survive every schema that CUE evaluates, with documents.
func (x *examiner) examine(it specimen) (found finding, err error) {
	if x.child == nil {
		if err := x.start(); err != nil {
			return found, err
		}
	}
	// The stack then shows where the child hangs.
	hung := time.AfterFunc(time.Minute, func() { _ = x.child.Process.Signal(syscall.SIGQUIT) })
	defer hung.Stop()
	var last report
	for err = x.in.Encode(it); err == nil; {
		var r report
		if err = x.out.Decode(&r); err == nil && r.Finding != nil {
			return *r.Finding, nil
		} else if err == nil {
			last = r
		}
	}
	_ = x.child.Wait() // its stack says more than its exit code
	x.child = nil
	overflowed := cueOverflowed(x.dying.String())
	if overflowed && last.Stage == generating {
		before, dying := x.gaveUp, x.dying
		it.Alone = true
		if _, again := x.examine(it); again != nil || x.gaveUp > before {
			return finding{}, again
		}
		x.dying = dying
	}
	// CUE may take forever over a document.
	slow := last.Stage == comparing && strings.Contains(x.dying.String(), "SIGQUIT") && strings.Contains(x.dying.String(), "/crdgen.judge(")
	if !slow && (last.Stage == generating || !overflowed) {
		return found, fmt.Errorf("%w in stage %d; the child said:\n%s", err, last.Stage, x.dying)
	}
	x.gaveUp++
	return finding{}, nil
}

// judge examines a specimen for a test, and fails the test if there is a finding.
func (x *examiner) judge(t *testing.T, it specimen) finding {
	t.Helper()
	found, err := x.examine(it)
	switch {
	case err != nil:
		t.Fatalf("%v\n%s\n%s", err, it.Schema, it.Changed)
	case found.Problem != "":
		t.Fatal(found.Problem)
	}
	return found
}

func (x *examiner) stop() {
	if x.child == nil {
		return
	}
	_ = x.requests.Close()
	_ = x.child.Wait()
}

// cueOverflowed reports whether a process ended because CUE recursed without end.
// It looks at the innermost frames of the printed stack, where a recursion
// through Pequod's own code would show.
func cueOverflowed(dump string) bool {
	_, stack, ok := strings.Cut(dump, "fatal error: stack overflow")
	inner, _, _ := strings.Cut(stack, "frames elided")
	return ok && strings.Contains(inner, "cuelang.org/go/internal/") && !strings.Contains(inner, "github.com/pequod-io/pequod/")
}

// TestExaminerSurvives examines schemas that CUE can't evaluate, each followed by
// another one.
func TestExaminerSurvives(t *testing.T) {
	if os.Getenv(examineEnv) != "" {
		t.Skip("is for the parent process")
	}
	x := &examiner{}
	defer x.stop()
	for i, schema := range []string{
		"#Input: c?: {x!: 1, if x == 1 {w: int}} & <5\n",
		"#Input: {x: int, c: ({if x == 1 {w: int}} | 5) & <5}\n",
	} {
		found, err := x.examine(specimen{Schema: schema})
		if err != nil || found.Generates || x.gaveUp != i+1 {
			t.Errorf("%s%+v, %v; gave up %d times", schema, found, err, x.gaveUp)
		}
		found, err = x.examine(specimen{Schema: "#Input: a: int\n", Documents: []string{"{a: 1}"}})
		if err != nil || !found.Generates || found.Problem != "" {
			t.Errorf("%+v, %v", found, err)
		}
	}
}

// TestCUEOverflowed checks that overflows are recognized by the stack that a
// process prints.
func TestCUEOverflowed(t *testing.T) {
	const dump = "runtime: goroutine stack exceeds 67108864-byte limit\nfatal error: stack overflow\n\ngoroutine 7 [running]:\n"
	const inCUE = "cuelang.org/go/internal/core/adt.(*Vertex).unify(0xc)\n"
	const ours = "github.com/pequod-io/pequod/internal/schema/read.(*reader).shape(0xc)\n"
	for text, want := range map[string]bool{
		dump + inCUE + "...99 frames elided...\n" + ours:  true,
		dump + inCUE + ours + "...99 frames elided...\n":  false,
		dump + ours + "...99 frames elided...\n":          false,
		"panic: oops\n\ngoroutine 7 [running]:\n" + inCUE: false,
	} {
		if got := cueOverflowed(text); got != want {
			t.Errorf("%v; want %v for\n%s", got, want, text)
		}
	}
}
