package pictures

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/harness"
)

// TestCluster checks the terminal pictures of commands that talk to a cluster.
func TestCluster(t *testing.T) {
	c := harness.StartOwn(t)
	c.Apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: africa}\n")
	_, run := repository(t)
	// script gives the command a terminal, on which apply draws its tree in place.
	interactive := func(command string) string {
		return strings.ReplaceAll(run("KUBECONFIG="+c.Kubeconfig+" script -qec 'stty cols 110 rows 40; "+command+"' /dev/null"), "\r\n", "\n")
	}

	const apply = "pequod apply -f cairo.yaml"
	drawings := frames(interactive(apply))
	var progress string
	for _, drawing := range drawings {
		if strings.Contains(drawing, "0 of 3 replicas available") {
			progress = drawing
		}
	}
	if progress == "" {
		t.Fatalf("no drawing while the Deployment starts in:\n%s", strings.Join(drawings, "\n"))
	}
	compareCluster(t, "apply-progress.svg", terminal(apply, progress))
	compareCluster(t, "apply.svg", terminal(apply, drawings[len(drawings)-1]))

	interactive("pequod apply -f accra.yaml --timeout 3s")
	const status = "pequod status -f accra.yaml"
	compareCluster(t, "status.svg", terminal(status, interactive(status)))
}

// frames returns the states of a tree that is drawn in place. The last one includes
// the text below the tree.
func frames(output string) []string {
	const clearLine, clearBelow = "\x1b[K", "\x1b[J"
	output = regexp.MustCompile(`\r(\x1b\[\d+A)?`).ReplaceAllString(strings.ReplaceAll(output, clearLine, ""), "")
	all := strings.Split(output, clearBelow)
	n := len(all) - 1
	if n == 0 {
		return all
	}
	all[n-1] += all[n]
	return all[:n]
}

// compareCluster compares a picture with the one of the documents, or writes it with
// -update. Times, and the widths of what follows them, differ between runs.
func compareCluster(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(directory, name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := steady(got), steady(string(want)); got != want {
		t.Errorf("%s is not what the programs print now: run make pictures\nwant:\n%s\ngot:\n%s", name, want, got)
	}
}

// steady returns the texts of a picture without times, random names of Pods, and the
// cause of a Deployment that starts, which is known only after a moment.
func steady(picture string) string {
	var b strings.Builder
	for _, text := range regexp.MustCompile(`<text[^>]*>([^<]*)</text>`).FindAllStringSubmatch(picture, -1) {
		b.WriteString(text[1] + "\n")
	}
	starting := regexp.MustCompile(`(0 of 3 replicas available): pod cairo.*`)
	masked := regexp.MustCompile(`\d+(\.\d)?s\b`).ReplaceAllString(starting.ReplaceAllString(b.String(), "$1"), "…s")
	return regexp.MustCompile(`pod ([a-z]+)-[a-z0-9]+-[a-z0-9]{5}\b`).ReplaceAllString(masked, "pod $1-…")
}
