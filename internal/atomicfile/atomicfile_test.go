package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pequod.lock")
	read := func() (string, fs.FileMode) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), info.Mode().Perm()
	}
	if err := Write(file, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if data, _ := read(); data != "one" {
		t.Errorf("a new file has %q", data)
	}
	if runtime.GOOS == "windows" {
		return // it has no permissions, and links need a privilege
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("pequod.lock", link); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := Write(link, []byte("two")); err != nil {
		t.Fatal(err)
	}
	if data, mode := read(); data != "two" || mode != 0o600 {
		t.Errorf("the file of a link has %q and mode %o", data, mode)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
	// A reader that opened the file before still has the old content.
	data := make([]byte, 8)
	if n, _ := old.Read(data); string(data[:n]) != "one" {
		t.Errorf("an open file has %q", data[:n])
	}
}

// TestFailedWrite checks that a failure leaves the file as it was, and no other one.
func TestFailedWrite(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(target, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if err := Write(filepath.Join(dir, "none", "file"), nil); err == nil {
		t.Error("wrote to a directory that does not exist")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}
