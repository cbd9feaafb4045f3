// Command notices prints the licenses and notices of Go and of all modules that the
// programs link, on all platforms of a release. Their terms demand that they
// accompany the programs.
//
//	go run ./test/notices > THIRD_PARTY_NOTICES.txt
//
// It is an error if a module has no license file.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platforms are those of .goreleaser.yaml that differ in the packages they link.
var platforms = []string{"linux", "darwin", "windows"}

// legal matches the names of files with terms.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run() error {
	// Lines "PATH VERSION DIRECTORY".
	var modules []string
	for _, platform := range platforms {
		lines, err := goCommand(platform, "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/...")
		if err != nil {
			return err
		}
		modules = append(modules, strings.FieldsFunc(lines, func(r rune) bool { return r == '\n' })...)
	}
	slices.Sort(modules)
	toolchain, err := goCommand("", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return err
	}
	modules = append(slices.Compact(modules), "Go "+strings.Join(strings.Fields(toolchain), " "))
	fmt.Println("Pequod contains software of others, under the following terms.")
	for _, line := range modules {
		fields := strings.SplitN(line, " ", 3)
		texts, err := terms(fields[2])
		if err != nil {
			return fmt.Errorf("%s: %w", fields[0], err)
		}
		fmt.Printf("\n%s\n%s %s\n\n%s\n", strings.Repeat("=", 80), fields[0], fields[1], strings.Join(texts, "\n\n"))
	}
	return nil
}

// terms returns the texts of the files with terms in a module, those of nested
// directories included: code that was copied into a module has its own.
func terms(dir string) ([]string, error) {
	var texts []string
	root := false
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if path != dir && slices.Contains([]string{"testdata", "test", "node_modules", ".git"}, e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !legal.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		root = root || filepath.Dir(rel) == "."
		text := strings.TrimSpace(strings.ToValidUTF8(string(data), ""))
		if !slices.ContainsFunc(texts, func(other string) bool { return strings.HasSuffix(other, text) }) {
			texts = append(texts, rel+":\n\n"+text)
		}
		return nil
	})
	if err == nil && !root {
		err = errors.New("no license")
	}
	return texts, err
}

// goCommand runs the go command for an operating system, or this one.
func goCommand(goos string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if goos != "" {
		cmd.Env = append(cmd.Env, "GOOS="+goos)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return string(out), nil
}
