package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOpenIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir")
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(path); err == nil || !strings.Contains(err.Error(), "in use by another test cluster") {
		t.Errorf("a second time: %v", err)
	}
	if err := os.WriteFile(first.Join("kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// One who comes while the lock is held waits a little for it.
	closed := make(chan error)
	go func() {
		time.Sleep(50 * time.Millisecond)
		closed <- first.Close()
	}()
	again, err := Open(path)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	defer again.Close()
	if _, err := os.Stat(again.Join("kept")); err != nil {
		t.Error(err)
	}
}

func TestTemporarySweepsWhatTheDeadLeft(t *testing.T) {
	parent := t.TempDir()
	old := time.Now().Add(-2 * settle)
	mkdir := func(name string) string {
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	abandoned, young, foreign := mkdir(prefix+"abandoned"), mkdir(prefix+"young"), mkdir("foreign")
	running, err := Open(filepath.Join(parent, prefix+"running"))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	for _, path := range []string{abandoned, foreign, running.Path} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}

	dir, err := Temporary(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{abandoned: false, young: true, foreign: true, running.Path: true, dir.Path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: exists is %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.Path); err == nil {
		t.Error("a temporary directory outlives Close")
	}
}
