// Package workers gives tests of controllers a pool of worker processes, which run the program of
// the test.
//
// A test package calls [Main] in TestMain and [Pool] in its tests.
package workers

import (
	"cmp"
	"os"
	"testing"
	"time"

	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/operator/worker/child"
	"github.com/pequod-io/pequod/test/inprocess"
)

// Main runs the tests of a package as [inprocess.Main] does, or a worker process if a pool has
// started the program.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(child.Serve(os.Stdin, os.Stdout))
	}
	inprocess.Main(m)
}

// Pool returns a pool with an empty directory. It is closed when the test ends. Evaluations may take
// a minute unless o.Timeout is set.
func Pool(t testing.TB, o worker.Options) *worker.Pool {
	t.Helper()
	o.Dir, o.Timeout = t.TempDir(), cmp.Or(o.Timeout, time.Minute)
	pool, err := worker.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
