package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// The identity of this module, and the nested one in it. The module is nested so
// that nothing else depends on Kubernetes' own modules.
const (
	module = "github.com/pequod-io/pequod"
	source = "test/cluster" // directory of the nested module
)

// Version is the environment variable that chooses the minor version of Kubernetes,
// such as 1.37. Without it the version is that of test/cluster/go.mod.
const Version = "PEQUOD_KUBERNETES"

// program is a program that is built from the nested module.
type program struct {
	name string
	pkg  string
	what string // for people
	cost string // of the first build
}

var (
	controlPlane = program{"testcluster", ".", "control plane", "3 to 8 minutes"}
	kubectl      = program{"kubectl", "k8s.io/kubernetes/cmd/kubectl", "kubectl", "another minute"}
)

// Build returns the path of the control plane's binary in bin/ of this checkout,
// and builds it if necessary. The name of the binary has a hash of everything
// that goes into it. Compiling Kubernetes takes minutes the first time; after
// that the go command's cache has it. Progress goes to log, which may be nil.
// Concurrent processes build once and wait for each other.
func Build(ctx context.Context, log io.Writer) (string, error) { return controlPlane.find(ctx, log) }

// Kubectl returns the path of a kubectl binary of the control plane's version,
// built in the same way. The file is not named kubectl.
func Kubectl(ctx context.Context, log io.Writer) (string, error) { return kubectl.find(ctx, log) }

// find locates the checkout from the working directory and builds the program
// there. Tests run in the directory of their package, so it is inside the
// checkout.
func (p program) find(ctx context.Context, log io.Writer) (string, error) {
	if log == nil {
		log = io.Discard
	}
	root, err := Checkout()
	if err != nil {
		return "", err
	}
	return p.build(ctx, root, log)
}

// build returns the path of the binary, and compiles it unless it exists. A file
// lock makes concurrent processes compile only once: `go test` runs many packages
// at a time. The binary is looked for before the lock is taken, which is the
// usual case, and again after it.
func (p program) build(ctx context.Context, root string, log io.Writer) (string, error) {
	recipe, err := readRecipe(filepath.Join(root, source), os.Getenv(Version))
	if err != nil {
		return "", fmt.Errorf("test cluster: %w", err)
	}
	bin := filepath.Join(root, "bin")
	binary := filepath.Join(bin, p.name+"-"+recipe.minor()+"-"+recipe.key)
	if built(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(bin, 0o777); err != nil {
		return "", err
	}
	stop := remind(log, "waiting for another process that builds for the test cluster")
	unlock, err := lockedfile.MutexAt(filepath.Join(bin, "testcluster.lock")).Lock()
	stop()
	if err != nil {
		return "", fmt.Errorf("test cluster: %w", err)
	}
	defer unlock()
	if built(binary) {
		return binary, nil
	}
	if err := recipe.compile(ctx, p, binary, log); err != nil {
		return "", err
	}
	removeOthers(binary)
	return binary, nil
}

// built reports whether a binary exists. It is complete then, because compile
// renames.
func built(binary string) bool {
	info, err := os.Stat(binary)
	return err == nil && info.Mode().IsRegular()
}

// compile builds to a temporary name and renames, so that a binary is never
// incomplete. The caller holds the lock. The output of the go command is shown
// only if it fails.
func (r recipe) compile(ctx context.Context, p program, binary string, log io.Writer) error {
	fmt.Fprintf(log, "compiling a Kubernetes %s %s from its Go modules; the first time this takes %s\n"+
		"on two cores and 3 GB of the go command's cache, from then on seconds, and without changes nothing\n", r.kubernetes, p.what, p.cost)
	begin := time.Now()
	next := binary + ".next"
	args := append([]string{"build", "-o", next}, r.flags()...)
	build := exec.CommandContext(ctx, "go", append(args, p.pkg)...)
	build.Dir, build.Env = r.dir, environment()
	var output bytes.Buffer
	build.Stdout, build.Stderr = &output, &output
	stop := remind(log, "still compiling")
	err := build.Run()
	stop()
	if err != nil {
		return fmt.Errorf("test cluster: go %s: %w\n%s", strings.Join(build.Args[1:], " "), err, output.Bytes())
	}
	fmt.Fprintf(log, "compiled in %s: %s\n", time.Since(begin).Round(time.Second), binary)
	return os.Rename(next, binary)
}

// remind logs text every 30 seconds until the returned function is called.
func remind(log io.Writer, text string) (stop func()) {
	done := make(chan struct{})
	go func() {
		for begin := time.Now(); ; {
			select {
			case <-done:
				return
			case <-time.After(30 * time.Second):
				fmt.Fprintf(log, "%s (%s)\n", text, time.Since(begin).Round(time.Second))
			}
		}
	}()
	return func() { close(done) }
}

// removeOthers deletes binaries of other recipes for the same version, which would
// pile up. A running process is not affected. Errors are ignored: an old binary is only
// a waste of space.
func removeOthers(binary string) {
	others, err := filepath.Glob(binary[:strings.LastIndexByte(binary, '-')] + "-*")
	if err != nil {
		return
	}
	for _, other := range others {
		if other != binary {
			_ = os.Remove(other)
		}
	}
}
