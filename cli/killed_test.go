package cli_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// TestKilledPull kills pulls of modules and bundles, in the middle of the download and at
// other moments. The directory either does not exist or is complete, and the next pull
// works.
func TestKilledPull(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	halves := make(chan struct{}, 10)
	var hang atomic.Bool // makes the server hang in the middle of a blob
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hang.Load() || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			inner.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		inner.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		w.(http.Flusher).Flush()
		halves <- struct{}{}
		<-r.Context().Done() // the process was killed
	}))
	defer server.Close()
	host := "oci://" + strings.TrimPrefix(server.URL, "http://")
	// command returns a process of pequod with a cache of its own, so that it downloads
	// everything.
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Args = append([]string{"pequod"}, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PEQUOD_CACHE_DIR="+t.TempDir(), "SOURCE_DATE_EPOCH=1")
		return cmd
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for name, text := range map[string]string{
		"pequod.yaml": "", "shop/cue.mod/module.cue": "module: \"example.com/shop@v1\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"shop/shop.cue": "package shop\n", "app.yaml": "apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: a}\nspec: {image: a, port: 80}\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("module", "push", "shop", host+"/shop:v1.0.0")
	run("push", host+"/deploy:1.0.0", "-f", "app.yaml")
	pulls := []struct {
		args []string
		file string // exists if the directory is complete
	}{
		{[]string{"module", "pull", host + "/shop:v1.0.0"}, "shop.cue"},
		{[]string{"pull", host + "/deploy:1.0.0"}, "kustomization.yaml"},
	}
	for i := range 50 {
		p := pulls[i%2]
		target := filepath.Join(dir, "target")
		hang.Store(i%4 < 2)
		cmd := command(append(p.args, target)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if hang.Load() {
			select {
			case <-halves:
			case err := <-ended:
				t.Fatalf("%v ended without a download: %v", p.args, err)
			}
		} else {
			time.Sleep(time.Duration(i*11%100) * time.Millisecond) // a different moment each time
		}
		_ = cmd.Process.Kill() // it may have ended
		<-ended
		for len(halves) > 0 {
			<-halves // of another blob
		}
		hang.Store(false)
		_, dirErr := os.Stat(target)
		_, fileErr := os.Stat(filepath.Join(target, p.file))
		if dirErr == nil && (fileErr != nil || i%4 < 2) {
			t.Fatalf("kill %d: half of %v was written", i, p.args)
		}
		if err := os.RemoveAll(target); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pulls {
		target := filepath.Join(dir, "last")
		run(append(p.args, target)...)
		if _, err := os.Stat(filepath.Join(target, p.file)); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(target); err != nil {
			t.Fatal(err)
		}
	}
}
