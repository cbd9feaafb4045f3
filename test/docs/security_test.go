package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testName = regexp.MustCompile("^`((?:Test|Fuzz)\\w+)`$")

// TestSecurityNamesTests checks that SECURITY.md names a test in every row of its
// tables, and that these tests exist.
func TestSecurityNamesTests(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| cannot ") || strings.HasPrefix(line, "| attacker ") || strings.HasPrefix(line, "|--") {
			continue
		}
		rows++
		if err := checkSecurityRow(line); err != nil {
			t.Errorf("SECURITY.md:%d: %v", i+1, err)
		}
	}
	if rows == 0 {
		t.Error("SECURITY.md has no tables")
	}
}

// checkSecurityRow returns an error unless the last cell of a row is a list of
// links to tests: Go tests by their names, scripts by the names of their files.
func checkSecurityRow(row string) error {
	cells := strings.Split(strings.Trim(row, "| "), " | ")
	if len(cells) != 3 && len(cells) != 4 { // those of the overview have 4
		return fmt.Errorf("%d cells, want 3 or 4", len(cells))
	}
	for _, test := range strings.Split(cells[len(cells)-1], ", ") {
		m := link.FindStringSubmatch(test)
		if m == nil || m[0] != test {
			return fmt.Errorf("%q isn't a link to a test", test)
		}
		shown, file := m[1], filepath.FromSlash(m[2])
		if filepath.Ext(file) == ".txtar" && strings.Trim(shown, "`") == filepath.Base(file) {
			if _, err := os.Stat(file); err != nil {
				return err
			}
			continue
		}
		name := testName.FindStringSubmatch(shown)
		if name == nil || !strings.HasSuffix(file, "_test.go") {
			return fmt.Errorf("%q is neither a Go test nor a script", test)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !strings.Contains(string(src), "\nfunc "+name[1]+"(") {
			return fmt.Errorf("%s has no %s", file, name[1])
		}
	}
	return nil
}

func TestSecurityRows(t *testing.T) {
	for row, want := range map[string]string{
		"| a | b | [`TestSecurityRows`](test/docs/security_test.go) |":            "",
		"| a | b | [`version.txtar`](cli/testdata/script/version.txtar) |":        "",
		"| a | can | cannot | [`TestSecurityRows`](test/docs/security_test.go) |": "",
		"| a | b |":                 "2 cells",
		"| a | b | by inspection |": "isn't a link",
		"| a | b | [`TestNone`](test/docs/security_test.go) |":                               "has no TestNone",
		"| a | b | [`security_test.go`](test/docs/security_test.go) |":                       "neither",
		"| a | b | [`none.txtar`](cli/testdata/script/none.txtar) |":                         "no such file",
		"| a | b | [`TestSecurityRows`](test/docs/security_test.go), [`TestX`](x_test.go) |": "no such file",
	} {
		err := checkSecurityRow(row)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", row, err, want)
		}
	}
}

// TestSecurityActors checks that the overview of SECURITY.md has a row for each actor, and that its
// links lead to sections.
func TestSecurityActors(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, model, _ := strings.Cut(string(text), "## Threat model\n")
	model, rest, _ := strings.Cut(model, "\n## ")
	_, actors, _ := strings.Cut(rest, "## Actors\n")
	linked := map[string]bool{}
	for _, m := range link.FindAllStringSubmatch(model, -1) {
		if section, ok := strings.CutPrefix(m[2], "#"); ok {
			linked[section] = true
		}
	}
	delete(linked, "actors")
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(actors, -1) {
		sections[strings.ReplaceAll(strings.ToLower(strings.NewReplacer(",", "", "`", "").Replace(m[1])), " ", "-")] = true
	}
	if diff := cmp.Diff(sections, linked); diff != "" || len(sections) == 0 {
		t.Errorf("the sections of the actors (-) and the links of the threat model (+):\n%s", diff)
	}
}
