package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/pequod-io/pequod/test/server"
)

// usage is what processes have used: CPU time, and the resident set of the largest one at its
// peak, in MiB.
type usage struct {
	cpu     time.Duration
	peakMiB float64
}

// commands runs one program repeatedly and sums what it uses.
type commands struct {
	program string
	env     []string
	used    usage
}

// run runs the program and returns an error with its output if it fails.
func (c *commands) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env = append(os.Environ(), c.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if state := cmd.ProcessState; state != nil {
		c.used.cpu += state.UserTime() + state.SystemTime()
		if r, ok := state.SysUsage().(*syscall.Rusage); ok {
			c.used.peakMiB = max(c.used.peakMiB, float64(r.Maxrss)/1024) // Linux reports KiB; see getrusage(2)
		}
	}
	if err != nil {
		text := out.Bytes()
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(c.program), strings.Join(args, " "), err, text[max(0, len(text)-2000):])
	}
	return nil
}

func (c *commands) usage() usage                { return c.used }
func (c *commands) close(context.Context) error { return nil }

// daemon is a controller that runs.
type daemon struct{ *server.Program }

// startDaemon starts a controller and waits until its endpoint for readiness answers.
func startDaemon(ctx context.Context, t *trial, cmd *exec.Cmd, ready string) (*daemon, error) {
	p, err := server.StartProgram(cmd, t.file(filepath.Base(cmd.Path)+".log"))
	if err != nil {
		return nil, err
	}
	d := &daemon{p}
	return d, poll(ctx, func() (bool, error) {
		select {
		case <-p.Done():
			return false, fmt.Errorf("%s has ended\n%s", p.Name(), p.Log())
		default:
		}
		return answers(ctx, ready), nil
	})
}

// usage returns what the process has used, or zeros on systems without /proc.
func (d *daemon) usage() (u usage) {
	process, err := procfs.NewProc(d.Pid())
	if err != nil {
		return u
	}
	if stat, err := process.Stat(); err == nil {
		u.cpu = time.Duration(stat.CPUTime() * float64(time.Second))
	}
	if status, err := process.NewStatus(); err == nil {
		u.peakMiB = float64(status.VmHWM) / (1 << 20)
	}
	return u
}

// close ends the process. Its exit code doesn't matter: not every controller exits with 0.
func (d *daemon) close(context.Context) error {
	if err := d.Stop(30 * time.Second); err != nil && strings.Contains(err.Error(), "ended by itself") {
		return err
	}
	return nil
}

// patience bounds the building of a peer.
const patience = 10 * time.Minute

// stepPatience bounds what is waited for in a step.
const stepPatience = 2 * time.Minute

// goTool builds a program of a module in a directory of this checkout and returns the path of the
// program and the version of its module.
func goTool(ctx context.Context, name, dir, pkg, module string) (path, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := goOutput(ctx, dir, "list", "-m", "-f", "{{.Version}}", module)
	if err != nil {
		return "", "", err
	}
	version = strings.TrimSpace(out)
	bin, err := filepath.Abs(filepath.Join("bin", name+"-"+version))
	if err != nil {
		return "", "", err
	}
	if _, err := os.Stat(bin); err == nil {
		return bin, version, nil // it was built before: its name has the version
	}
	_, err = goOutput(ctx, dir, "build", "-ldflags=-s -w", "-o", bin, pkg)
	return bin, version, err
}

// moduleDir returns the directory of a module that the module in dir requires.
func moduleDir(ctx context.Context, dir, module string) (string, error) {
	out, err := goOutput(ctx, dir, "list", "-m", "-f", "{{.Dir}}", module)
	return strings.TrimSpace(out), err
}

// goOutput runs the go command in a directory and returns its stdout.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("not built within %s", patience)
	}
	if err != nil {
		return "", errors.New(lastLine(stderr.String()))
	}
	return string(out), nil
}

// lastLine returns the last line of a text that isn't empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// freeAddress returns a loopback address with a port that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
