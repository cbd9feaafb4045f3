package tree

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
)

// direct returns the requirements of go.mod that are not indirect, by the block in
// which they are.
func direct(t *testing.T) [][]string {
	t.Helper()
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]string
	for _, statement := range file.Syntax.Stmt {
		block, ok := statement.(*modfile.LineBlock)
		if !ok || block.Token[0] != "require" {
			continue
		}
		var paths []string
		for _, r := range file.Require {
			if !r.Indirect && slices.Contains(block.Line, r.Syntax) {
				paths = append(paths, r.Mod.Path)
			}
		}
		if len(paths) > 0 {
			blocks = append(blocks, paths)
		}
	}
	return blocks
}

// linked returns the modules that the programs link.
func linked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	return slices.Compact(modules)
}

var dependencyRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// TestDependenciesDocumented checks that docs/dependencies.md has a row for each
// module that go.mod requires directly, and no row for another one.
func TestDependenciesDocumented(t *testing.T) {
	data, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, ok := strings.Cut(string(data), "\n## Considered and left out\n")
	if !ok {
		t.Fatal("no section of what is left out")
	}
	var rows []string
	for _, m := range dependencyRow.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "/") {
			rows = append(rows, m[1])
		}
	}
	required := slices.Concat(direct(t)...)
	slices.Sort(rows)
	slices.Sort(required)
	if diff := cmp.Diff(required, rows); diff != "" {
		t.Errorf("docs/dependencies.md differs from go.mod (-go.mod +document):\n%s", diff)
	}
}

// TestDependencyBlocks checks that go.mod has the modules that no program links in a
// block of their own.
func TestDependencyBlocks(t *testing.T) {
	blocks, programs := direct(t), linked(t)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of direct requirements in go.mod, want 2: of the programs, and of tests and tools only", len(blocks))
	}
	for i, block := range blocks {
		for _, path := range block {
			if slices.Contains(programs, path) != (i == 0) {
				t.Errorf("%s is in block %d of go.mod; the first block has what programs link, the second one the rest", path, i+1)
			}
		}
	}
}

// TestNotices checks that the notices that are shipped name every module that the
// programs link, with its license.
func TestNotices(t *testing.T) {
	cmd := exec.Command("go", "run", "./test/notices")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(out), "\n"+strings.Repeat("=", 80)+"\n")[1:] {
		head, body, _ := strings.Cut(section, "\n")
		name, _, _ := strings.Cut(head, " ")
		sections[name] = body
	}
	for _, path := range append(linked(t), "Go") {
		if path == module {
			continue
		}
		if license := sections[path]; len(license) < 500 || !regexp.MustCompile(`(?i)copyright|license`).MatchString(license) {
			t.Errorf("%s: no license in the notices", path)
		}
	}
	release, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(release), "src: THIRD_PARTY_NOTICES.txt") || !strings.Contains(string(release), "make notices") {
		t.Error("the archives of a release have no notices")
	}
}
