package cli_test

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	cuecmd "cuelang.org/go/cmd/cue/cmd"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pequod-io/pequod/cli"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pequod": func() { os.Exit(cli.Main()) },
		"cue":    func() { os.Exit(cuecmd.Main()) },
	})
}

// TestScripts runs the executable specification of the offline commands.
// testdata/script has one script per behavior, with input, commands and expected
// output. Run the test with -update to rewrite the expected output.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cacheDir := t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("XDG_CACHE_HOME", cacheDir)
			// An empty file stops the search for pequod.yaml in parent directories.
			return os.WriteFile(filepath.Join(env.WorkDir, "pequod.yaml"), nil, 0o600)
		},
		Condition: func(name string) (bool, error) {
			if name == "root" { // who may give files to other users
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"executor":   startExecutor,
			"forget":     forget,
			"interrupts": interrupts,
			"keyless":    signKeyless,
			"keypair":    writeKeyPair,
			"registry":   startRegistry,
			"tree":       tree,
		},
	})
}

// registries are the running registries of all scripts, by their hosts.
var registries sync.Map

// startRegistry starts an empty registry in memory and sets a variable to its host:
// registry VARIABLE [unlisted]. An unlisted registry refuses to list tags. With an
// exclamation mark, it stops the registry of the variable.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || len(args) > 2 || len(args) == 2 && args[1] != "unlisted" {
		ts.Fatalf("usage: [!] registry VARIABLE [unlisted]")
	}
	if neg {
		server, _ := registries.Load(ts.Getenv(args[0]))
		server.(*httptest.Server).Close()
		return
	}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(args) == 2 && strings.HasSuffix(r.URL.Path, "/tags/list") {
			http.Error(w, "tags are not listed", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	registries.Store(strings.TrimPrefix(server.URL, "http://"), server)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "http://"))
}

// forget removes an artifact from a registry in memory: forget HOST/REPOSITORY DIGEST.
func forget(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: forget HOST/REPOSITORY DIGEST")
	}
	host, repository, _ := strings.Cut(args[0], "/")
	req, err := http.NewRequest(http.MethodDelete, "http://"+host+"/v2/"+repository+"/manifests/"+args[1], nil)
	ts.Check(err)
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	if resp.StatusCode != http.StatusAccepted {
		ts.Fatalf("%s", resp.Status)
	}
}

// exits runs a command and fails unless it ends with the exit code:
// exits CODE COMMAND [ARG ...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG ...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = exitCodeOf(ts, err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s; want %s", code, args[0])
	}
}

// tree writes a listing of a directory with sizes and modification times to a file:
// tree DIR FILE.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree DIR FILE")
	}
	dir := ts.MkAbs(args[0])
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}
