package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestBrew checks that the formula has each archive of macOS and Linux, with its checksum, at its system.
func TestBrew(t *testing.T) {
	archives := map[string][]byte{}
	for _, name := range []string{"darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "linux_amd64.tar.gz", "linux_arm64.tar.gz", "windows_amd64.zip"} {
		archives["pequod_"+version+"_"+name] = []byte(name)
	}
	file := filepath.Join(release(t, archives), "pequod.rb")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, system := range []string{"on_macos on_arm darwin_arm64", "on_macos on_intel darwin_amd64", "on_linux on_arm linux_arm64", "on_linux on_intel linux_amd64"} {
		at, name := system[:strings.LastIndex(system, " ")], system[strings.LastIndex(system, " ")+1:]+".tar.gz"
		want = append(want, fmt.Sprintf("%s %s/releases/download/v%s/pequod_%[3]s_%s %x", at, source, version, name, sha256.Sum256([]byte(name))))
	}
	less := func(a, b string) bool { return a < b }
	if diff := cmp.Diff(want, downloads(string(text)), cmpopts.SortSlices(less)); diff != "" {
		t.Errorf("downloads (-want +got):\n%s", diff)
	}
	for _, part := range []string{"class Pequod < Formula\n", `  version "` + version + `"`, `  bin.install "pequod"`, `"completion"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the formula has no %q:\n%s", part, text)
		}
	}
}

// downloads returns the lines "SYSTEM ARCHITECTURE ADDRESS CHECKSUM" of a formula.
func downloads(formula string) (lines []string) {
	var at []string
	url := ""
	for line := range strings.Lines(formula) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[1] == "do" && strings.HasPrefix(words[0], "on_"):
			at = append(at, words[0])
		case len(words) == 1 && words[0] == "end" && len(at) > 0:
			at = at[:len(at)-1]
		case len(words) == 2 && words[0] == "url":
			url = strings.Trim(words[1], `"`)
		case len(words) == 2 && words[0] == "sha256":
			lines = append(lines, strings.Join(append(at[:len(at):len(at)], url, strings.Trim(words[1], `"`)), " "))
		}
	}
	return lines
}

// TestWrongVersion refuses a version that would end the string of a formula.
func TestWrongVersion(t *testing.T) {
	if err := brew(&strings.Builder{}, `1"; system "x`, nil); err == nil {
		t.Error("the version was accepted")
	}
}
