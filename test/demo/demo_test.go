package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/postgres"
)

// transcript is what a demonstration prints.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *transcript) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(data)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// leftovers has temporary files made in a directory, and gives what is in it.
func leftovers(t *testing.T) func() []os.DirEntry {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return func() []os.DirEntry {
		t.Helper()
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
}

// makeTarget returns a command that makes a target, and leaves the make that runs the test alone.
func makeTarget(target string) *exec.Cmd {
	run := exec.Command("make", "-C", filepath.FromSlash("../.."), "--no-print-directory", target)
	run.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=")
	})
	return run
}

// By itself it comes to a WebService that is ready, and to its end.
func TestDemo(t *testing.T) {
	left := leftovers(t)
	run := makeTarget("demo-cluster")
	var out transcript
	run.Stdout, run.Stderr = &out, &out
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`\$ pequod render -f app.yaml > graph.yaml\n`,
		`\nshop/` + graph + `: ready, 3 of 3 ready\n`,
		`\nresourcegraph.platform.pequod.io/` + graph + ` +Completed +True `,
		`\ndeployment.apps/web +2/2 `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no match for %s", want)
		}
	}
	if left := left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// What is kept is kept until an interrupt, and then it is gone. It is the demonstration of
// Actions on a machine without PostgreSQL.
func TestKeep(t *testing.T) {
	left := leftovers(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out transcript
	ended := make(chan error, 1)
	missing := func(context.Context) (*postgres.Database, error) { return nil, postgres.ErrMissing }
	go func() { ended <- (&demo{scenario: actions(missing), out: &out, err: &out, keep: true}).run(ctx) }()
	export := regexp.MustCompile(`export KUBECONFIG=(\S+)\n(?s:.*)pequod status\n`)
	harness.Eventually(t, 10*time.Minute, func(context.Context) error {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, out.String())
		default:
		}
		if !export.MatchString(out.String()) {
			return errors.New("it isn't there yet")
		}
		return nil
	})
	config, err := clientcmd.BuildConfigFromFlags("", export.FindStringSubmatch(out.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := answers(t.Context(), config); err != nil {
		t.Errorf("the cluster that is kept: %v", err)
	}
	for _, want := range []string{
		`\n# PostgreSQL isn't installed \(on Debian: apt-get install postgresql\), so the history is in the status of objects only.\n`,
		`\n\$ pequod history action/production-pg\nRUN .*\n1 .* Succeeded .*\n2 .* Succeeded `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no match for %s in\n%s", want, out.String())
		}
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("interrupted: %v", err)
	}
	if err := answers(t.Context(), config); err == nil {
		t.Error("the cluster is still there")
	}
	if left := left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An interrupt in the middle of it leaves nothing behind either.
func TestInterrupt(t *testing.T) {
	left := leftovers(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out transcript
	watched := io.MultiWriter(&out, writer(func(data []byte) {
		if strings.Contains(string(data), "$ pequod install") {
			interrupt()
		}
	}))
	if err := (&demo{scenario: webService(), out: watched, err: &out}).run(ctx); err == nil {
		t.Errorf("no error after an interrupt\n%s", out.String())
	}
	if text := out.String(); !strings.Contains(text, "$ pequod install") || strings.Contains(text, "kubectl") {
		t.Errorf("interrupted elsewhere:\n%s", text)
	}
	if left := left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

type writer func([]byte)

func (w writer) Write(data []byte) (int, error) {
	w(data)
	return len(data), nil
}

// answers asks an API server for what it is.
func answers(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	return client.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
}
