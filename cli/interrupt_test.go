package cli_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// interrupts runs a command, writes the beginning of its input, and sends it a signal
// while it waits for the rest. The command must end by itself with exit code 2:
// interrupts SIGNAL INPUT BEGINNING COMMAND [ARG ...]. INPUT is a named pipe, or "-"
// for stdin. BEGINNING is a file.
func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: interrupts SIGNAL INPUT BEGINNING COMMAND [ARG ...]")
	}
	signal := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[0]]
	cmd := exec.Command(args[3], args[4:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "KUBECONFIG=", "NO_COLOR=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	var input io.WriteCloser
	var err error
	if args[1] == "-" {
		input, err = cmd.StdinPipe()
		ts.Check(err)
	}
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	if input == nil {
		// The pipe opens when the command opens it.
		input, err = os.OpenFile(ts.MkAbs(args[1]), os.O_WRONLY, 0)
		ts.Check(err)
	}
	// A pipe buffers 64 KiB, so the command reads when this has been written.
	_, err = io.WriteString(input, ts.ReadFile(args[2])+strings.Repeat("# "+strings.Repeat("x", 60)+"\n", 1<<13))
	ts.Check(err)
	ts.Check(cmd.Process.Signal(signal))
	if code := exitCodeOf(ts, <-ended); code != "2" || stderr.String() != "pequod: interrupted\n" {
		ts.Fatalf("exit code %s, stderr: %s", code, stderr.String())
	}
	_ = input.Close() // only now, so that the command didn't reach its end
}
