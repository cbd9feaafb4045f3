package tied

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/harness"
)

const patience = 3 * time.Minute

// asParent makes the test binary a program that starts another one and waits to be killed.
const asParent = "PEQUOD_TEST_AS_PARENT"

// child prints its process and that of a child, and goes on.
const child = `sleep 1000 & echo $$ $!; wait`

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("sh", "-c", child)
	cmd.Stdout = os.Stdout
	if err := Start(cmd); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = cmd.Wait() // this process is killed before
}

// processes reads what a child prints.
func processes(t *testing.T, line string) (program, child int) {
	t.Helper()
	if n, err := fmt.Sscan(line, &program, &child); n != 2 {
		t.Fatalf("the program says %q: %v", line, err)
	}
	return program, child
}

// awaitEnd waits until a process has ended. A zombie has.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	harness.Eventually(t, patience, func(context.Context) error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || strings.HasPrefix(state, "Z") {
			return nil
		}
		return fmt.Errorf("process %d runs: %s: %v", pid, stat, err)
	})
}

// TestKilled kills a program that has started another one. That one ends, with its child.
func TestKilled(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	program, child := processes(t, line)
	if err := errors.Join(syscall.Kill(program, 0), syscall.Kill(child, 0)); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	awaitEnd(t, program)
	awaitEnd(t, child)
}

// TestStart starts a program: its process is that of the command, its output and its end are seen,
// and what it leaves behind ends with it.
func TestStart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	cmd := exec.Command("sh", "-c", `sleep 1000 >/dev/null & echo $$ $!; cat; exit 3`)
	cmd.Stdout = &out
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the end is %v", err)
	}
	program, child := processes(t, out.String())
	if program != cmd.Process.Pid {
		t.Errorf("the process is %d, not %d", cmd.Process.Pid, program)
	}
	awaitEnd(t, child)
	if err := Start(exec.Command("pequod-no-such-program")); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that doesn't exist: %v", err)
	}
}
