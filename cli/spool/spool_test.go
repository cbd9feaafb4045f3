package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
)

func TestBuffer(t *testing.T) {
	for name, writes := range map[string][]string{
		"empty":           nil,
		"nothing written": {""},
		"in memory":       {"abc", "def"},
		"exactly full":    {"0123456789", "abcdef"},
		"one over":        {"0123456789", "abcdefg"},
		"at once":         {"0123456789abcdefghijklmnopqrstuvwxyz"},
		"spilled, more":   {"0123456789", "abcdefghij", "klm", "", "nop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			b := New(16)
			var want bytes.Buffer
			for _, w := range writes {
				want.WriteString(w)
				if n, err := io.WriteString(b, w); n != len(w) || err != nil {
					t.Fatalf("Write %q: %d, %v", w, n, err)
				}
			}
			for range 2 {
				var got bytes.Buffer
				if err := b.CopyTo(&got); err != nil {
					t.Fatal(err)
				}
				if got.String() != want.String() {
					t.Errorf("got %q, want %q", &got, &want)
				}
			}
			if spilled := b.file != nil; spilled != (want.Len() > 16) {
				t.Errorf("%d bytes, spilled: %t", want.Len(), spilled)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if left := entries(t, os.Getenv("TMPDIR")); left != 0 {
				t.Errorf("%d files left", left)
			}
		})
	}
}

func TestWriteAfterCopy(t *testing.T) {
	b := New(2)
	defer b.Close()
	var got bytes.Buffer
	for range 3 {
		if _, err := b.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		got.Reset()
		if err := b.CopyTo(&got); err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != "abcabcabc" {
		t.Errorf("got %q", &got)
	}
}

func TestNothingIsLeftWhenKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file can't be unlinked")
	}
	t.Setenv("TMPDIR", t.TempDir())
	b := New(1)
	defer b.Close()
	if _, err := b.Write([]byte("spilled")); err != nil {
		t.Fatal(err)
	}
	if n := entries(t, os.Getenv("TMPDIR")); n != 0 {
		t.Errorf("%d files visible while the buffer is open", n)
	}
}

func TestErrors(t *testing.T) {
	closed := errors.New("stdout closed")
	for _, limit := range []int{1, 100} {
		b := New(limit)
		if _, err := b.Write([]byte("some output")); err != nil {
			t.Fatal(err)
		}
		if err := b.CopyTo(failing{closed}); !errors.Is(err, closed) {
			t.Errorf("limit %d: CopyTo a closed writer: %v", limit, err)
		}
		b.Close()
	}
	t.Setenv("TMPDIR", "/nonexistent")
	if _, err := New(1).Write([]byte("spilled")); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no place for a temporary file: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func entries(t *testing.T, dir string) int {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
