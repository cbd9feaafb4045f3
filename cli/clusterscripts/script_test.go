// Package clusterscripts_test runs the specification of the commands that talk to a
// cluster. testdata has one script per behavior, with input, commands and expected
// output. Each script has its own namespace, $NAMESPACE, and four kubeconfigs:
// $KUBECONFIG of the cluster, $PROXY of a connection that the script can break,
// $STRANGER with an invalid token, and $READER of an account that may read everything
// in the namespace and write nothing. $READER_TOKEN is the token of that account; the
// cluster is $SERVER with the certificate in ca.crt.
package clusterscripts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/cli"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pequod": func() { os.Exit(cli.Main()) }})
}

// own are the scripts with an applier, or with definitions that others must not see.
var own = []string{"action_approve", "diff_graphs", "executed", "history", "names", "reconcile", "status_actions", "status_list"}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			start := harness.Start
			// An installation, be it only of the CRDs, affects the whole cluster.
			if base := filepath.Base(file); strings.HasPrefix(base, "install") || slices.Contains(own, strings.TrimSuffix(base, ".txtar")) {
				start = harness.StartOwn
			}
			c := start(t)
			proxy := c.Proxy(t, 1)
			stranger := rest.CopyConfig(c.Config)
			stranger.BearerToken = "nobody's"
			reader := reader(t, c)
			env := map[string]string{
				"NO_COLOR": "1", "KUBECONFIG": c.Kubeconfig, "NAMESPACE": c.Namespace, "PEQUOD_NAMESPACE": c.Namespace,
				"STRANGER": c.WriteKubeconfig(t, stranger), "PROXY": c.WriteKubeconfig(t, proxy.Config(c.Config)),
				"READER": c.WriteKubeconfig(t, reader), "READER_TOKEN": reader.BearerToken, "SERVER": c.Config.Host,
			}
			testscript.RunT(record(t, c), testscript.Params{
				Files:               []string{file},
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Setup: func(script *testscript.Env) error {
					for name, value := range env {
						script.Setenv(name, value)
					}
					if err := os.WriteFile(filepath.Join(script.WorkDir, "ca.crt"), c.Config.CAData, 0o600); err != nil {
						return err
					}
					return os.WriteFile(filepath.Join(script.WorkDir, "pequod.yaml"), nil, 0o600)
				},
				// since:1.36 is true if the cluster has this version of Kubernetes or a later one.
				Condition: func(text string) (bool, error) {
					minor, ok := strings.CutPrefix(text, "since:")
					if !ok {
						return false, fmt.Errorf("unknown condition %s", text)
					}
					return c.Since(minor)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits":   exits,
					"until":   until,
					"some":    func(ts *testscript.TestScript, neg bool, args []string) { some(in(t, ts), c, ts, neg, args) },
					"remove":  func(ts *testscript.TestScript, _ bool, args []string) { remove(in(t, ts), c, ts, args) },
					"appears": func(ts *testscript.TestScript, neg bool, args []string) { appears(in(t, ts), c, ts, neg, args) },
					"field":   func(ts *testscript.TestScript, neg bool, args []string) { field(in(t, ts), c, ts, neg, args) },
					"server":  func(ts *testscript.TestScript, _ bool, args []string) { server(in(t, ts), proxy, ts, args) },
					"graph":   graph,
					// create FILE: create the objects of a file as another client. NAMESPACE
					// stands for the namespace of the script.
					"create": func(ts *testscript.TestScript, _ bool, args []string) {
						c.Apply(in(t, ts), strings.ReplaceAll(ts.ReadFile(args[0]), "NAMESPACE", c.Namespace))
					},
					// applier: run an applier that executes the graphs of the namespace, and
					// install the definitions of all kinds.
					"applier": func(ts *testscript.TestScript, _ bool, _ []string) {
						inprocess.Execute(in(t, ts), c)
						for document := range strings.SplitSeq(string(config.Actions), "\n---\n") {
							if strings.Contains(document, "kind: CustomResourceDefinition\n") {
								c.Apply(in(t, ts), document)
							}
						}
					},
					// status APIVERSION KIND NAME JSON: write the status of an object.
					"status": func(ts *testscript.TestScript, _ bool, args []string) {
						var status map[string]any
						ts.Check(json.Unmarshal([]byte(args[3]), &status))
						c.SetStatus(in(t, ts), args[0], args[1], args[2], status)
					},
					// patch MANAGER APIVERSION KIND NAME PATCH: patch an object as
					// another field manager.
					"patch": func(ts *testscript.TestScript, _ bool, args []string) {
						client := c.Await(in(t, ts), args[1], args[2], "")
						_, err := client.Patch(t.Context(), args[3], types.MergePatchType, []byte(args[4]), metav1.PatchOptions{FieldManager: args[0]})
						ts.Check(err)
					},
				},
			})
		})
	}
}

// inScript is the test of a script, for functions that take a test. What fails it ends
// the script: a script is a subtest, which must not call FailNow of its parent.
type inScript struct {
	testing.TB
	ts *testscript.TestScript
}

func in(t *testing.T, ts *testscript.TestScript) testing.TB { return inScript{t, ts} }

func (s inScript) Fatal(args ...any)                 { s.ts.Fatalf("%s", fmt.Sprint(args...)) }
func (s inScript) Fatalf(format string, args ...any) { s.ts.Fatalf(format, args...) }
func (s inScript) FailNow()                          { s.ts.Fatalf("failed") }

// until repeats a command until its output matches, for up to a minute:
// until PATTERN COMMAND [ARG ...].
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND [ARG ...]")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		switch {
		case pattern.MatchString(ts.ReadFile("stdout")):
			return
		case time.Now().After(end):
			ts.Fatalf("no match for %q, and in the end: %v", args[0], err)
		}
	}
}

// exits runs a command and fails unless it ends with the exit code:
// exits CODE COMMAND [ARG ...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG ...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d; want %s", code, args[0])
	}
}
