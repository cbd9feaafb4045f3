package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const seedsDoc = "docs/seeds.md"

var (
	seedState  = regexp.MustCompile(`^(holds\b|otherwise: |not there: )`)
	quoted     = regexp.MustCompile("`([^`]+)`")
	makeTarget = regexp.MustCompile(`^make ([a-z-]+)$`)
)

// TestSeeds checks that every test and file that docs/seeds.md names exists, that only
// promises that aren't kept name none, and that the commands of make exist.
func TestSeeds(t *testing.T) {
	text, err := os.ReadFile(seedsDoc)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| promise ") || strings.HasPrefix(line, "|--") {
			continue
		}
		rows++
		if err := checkSeedRow(line, string(rules)); err != nil {
			t.Errorf("%s:%d: %v", seedsDoc, i+1, err)
		}
	}
	if rows < 90 {
		t.Errorf("%s has %d promises", seedsDoc, rows)
	}
}

// checkSeedRow returns an error unless a row has a promise, its state with a reason, and links
// to tests or files that exist.
func checkSeedRow(row, makefile string) error {
	cells := strings.Split(strings.Trim(row, "| "), " | ")
	if len(cells) != 3 {
		return fmt.Errorf("%d cells, want 3", len(cells))
	}
	state := seedState.FindString(cells[1])
	switch {
	case state == "":
		return fmt.Errorf("the state is %q", cells[1])
	case state == "not there: " && cells[2] != "–":
		return fmt.Errorf("%s shows what is not there", cells[2])
	case state != "not there: ":
		if err := checkShown(cells[2]); err != nil {
			return err
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(cells[0]+cells[1], -1) {
		if target := makeTarget.FindStringSubmatch(m[1]); target != nil && !strings.Contains(makefile, "\n"+target[1]+":") {
			return fmt.Errorf("no target %s", m[1])
		}
	}
	return nil
}

// checkShown checks a list of links to tests and files, relative to docs.
func checkShown(list string) error {
	for _, shown := range strings.Split(list, ", ") {
		m := link.FindStringSubmatch(shown)
		if m == nil || m[0] != shown {
			return fmt.Errorf("%q isn't a link", shown)
		}
		file := filepath.Join("docs", filepath.FromSlash(m[2]))
		name := testName.FindStringSubmatch(m[1])
		text, err := os.ReadFile(file)
		switch {
		case err != nil:
			return err
		case name != nil && !strings.Contains(string(text), "\nfunc "+name[1]+"("):
			return fmt.Errorf("%s has no %s", file, name[1])
		case strings.Trim(m[1], "`") != filepath.Base(file) && name == nil:
			return fmt.Errorf("%q isn't %s", m[1], file)
		}
	}
	return nil
}

// TestSeedRows checks that rows without what they promise are found.
func TestSeedRows(t *testing.T) {
	const shown = "[`TestSeedRows`](../test/docs/seeds_test.go)"
	for row, want := range map[string]string{
		"| a | holds | " + shown + " |":                                 "",
		"| a | holds for some | " + shown + ", [LICENSE](../LICENSE) |": "",
		"| `make build` | otherwise: b | " + shown + " |":               "",
		"| a | not there: b | – |":                                      "",
		"| a | holds | – |":                                             "isn't a link",
		"| a | otherwise | " + shown + " |":                             "the state is",
		"| a | not there | – |":                                         "the state is",
		"| a | not there: b | " + shown + " |":                          "shows what is not there",
		"| a | soon: b | " + shown + " |":                               "the state is",
		"| `make nothing` | holds | " + shown + " |":                    "no target",
		"| a | holds | [`TestNone`](../test/docs/seeds_test.go) |":      "has no TestNone",
		"| a | holds | [`none.txtar`](../cli/none.txtar) |":             "no such file",
		"| a | holds | [COPYING](../LICENSE) |":                         "isn't LICENSE",
	} {
		err := checkSeedRow(row, "\nbuild: x\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", row, err, want)
		}
	}
}
