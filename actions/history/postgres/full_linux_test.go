package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pequod-io/pequod/actions/history"
	"github.com/pequod-io/pequod/test/postgres"
)

// TestFullDisk has PostgreSQL on a file system that is full. Writes are errors that say so, and don't
// block. When there is space again, all rows are stored, each once.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) }) // it is empty
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128m"); err != nil {
		t.Skipf("a file system of limited size can't be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	server := postgres.StartIn(t, dir)
	store := Open(server.URLFile)
	t.Cleanup(store.Close)
	message := strings.Repeat("x", 1000)
	batch := func(n int) []history.Run {
		rows := make([]history.Run, 50)
		for i := range rows {
			rows[i] = history.Run{
				Object:     history.Object{UID: fmt.Sprint("uid-", n), Namespace: "shop", Name: "db"},
				Generation: 1, Attempt: int64(i + 1), Reason: "Spec", Result: "Succeeded",
				Message: message, StartedAt: time.Unix(1e9, 0), FinishedAt: time.Unix(1e9+1, 0),
			}
		}
		return rows
	}
	if _, err := store.WriteRuns(t.Context(), batch(0)); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	batches, began := 1, time.Now()
	for err = nil; err == nil; batches++ {
		if batches > 10000 {
			t.Fatal("the disk isn't full")
		}
		_, err = store.WriteRuns(t.Context(), batch(batches))
	}
	t.Logf("after %d batches: %v", batches-1, err)
	if !strings.Contains(err.Error(), "No space left on device") || time.Since(began) > time.Minute {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	server.Kill() // as an administrator restarts it, if it has not ended by itself
	server.Run()
	for n := range batches {
		if _, err := store.WriteRuns(t.Context(), batch(n)); err != nil {
			if _, err = store.WriteRuns(t.Context(), batch(n)); err != nil { // the first one finds the old connection
				t.Fatal(err)
			}
		}
	}
	if n := server.Count("SELECT count(*) FROM runs"); n != 50*batches {
		t.Errorf("%d rows, want %d", n, 50*batches)
	}
}

// fill writes a file until the file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10} {
		for chunk := make([]byte, size); ; {
			if _, err := f.Write(chunk); err != nil {
				break
			}
		}
	}
}
