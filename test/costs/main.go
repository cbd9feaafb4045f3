// Command costs prints what each module costs the shipped programs: the size of its
// code and data in bytes, and the time that its packages take to initialize at every
// start.
//
//	go run ./test/costs
//
// Sizes are sums of symbols, as go tool nm lists them. They leave out type
// descriptors, strings and debug information, which Go keeps for all modules
// together, so they are shares to compare and not what removing the module saves:
// that also depends on what else it imports. Times are the smallest of many starts,
// measured by the Go runtime (GODEBUG=inittrace=1).
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// programs are the commands that start the programs and end at once.
var programs = []struct{ name, arg string }{
	{"pequod", "version"}, {"pequod-applier", "--version"}, {"pequod-actions", "--version"},
}

// starts is how often each program is started.
const starts = 21

// cost is that of one module in one program.
type cost struct{ size, init float64 } // in KB and ms

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "costs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all := map[string][]cost{}
	for i, p := range programs {
		binary := filepath.Join(dir, p.name)
		if _, err := output("go", "build", "-trimpath", "-o", binary, "./cmd/"+p.name); err != nil {
			return err
		}
		modules, err := output("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/"+p.name)
		if err != nil {
			return err
		}
		of := owners(strings.Fields(modules))
		add := func(path string, size, init float64) {
			module := of(path)
			if all[module] == nil {
				all[module] = make([]cost, len(programs))
			}
			all[module][i].size += size
			all[module][i].init += init
		}
		if err := sizes(binary, add); err != nil {
			return err
		}
		if err := inits(binary, p.arg, add); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "pequod KB\tms\tapplier KB\tms\tactions KB\tms\t module")
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b][0].size, all[a][0].size), cmp.Compare(all[b][2].size, all[a][2].size))
	})
	for _, name := range names {
		for _, c := range all[name] {
			fmt.Fprintf(w, "%.0f\t%.2f\t", c.size, c.init)
		}
		fmt.Fprintf(w, " %s\n", name)
	}
	return w.Flush()
}

// owners returns a function that finds the module of a package or symbol. What
// belongs to none is the standard library's.
func owners(modules []string) func(string) string {
	slices.Sort(modules)
	modules = slices.Compact(modules)
	slices.SortFunc(modules, func(a, b string) int { return len(b) - len(a) })
	return func(path string) string {
		for _, m := range modules {
			if rest, ok := strings.CutPrefix(path, m); ok && (rest == "" || rest[0] == '/' || rest[0] == '.') {
				return m
			}
		}
		return "(Go)"
	}
}

// sizes adds the symbols of a program.
func sizes(binary string, add func(symbol string, size, init float64)) error {
	text, err := output("go", "tool", "nm", "-size", binary)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		// ADDRESS SIZE KIND NAME; symbols of the kind U have no address.
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.EqualFold(fields[2], "b") { // B: memory only
			continue
		}
		size, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			continue
		}
		add(strings.ReplaceAll(fields[3], "%2e", "."), size/1000, 0)
	}
	return nil
}

// initLine is a line of GODEBUG=inittrace=1.
var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock`)

// inits adds the times that packages take to initialize.
func inits(binary, arg string, add func(path string, size, init float64)) error {
	least := map[string]float64{}
	for range starts {
		cmd := exec.Command(binary, arg)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", cmd, err)
		}
		for _, m := range initLine.FindAllStringSubmatch(stderr.String(), -1) {
			ms, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				return err
			}
			if before, seen := least[m[1]]; !seen || ms < before {
				least[m[1]] = ms
			}
		}
	}
	for path, ms := range least {
		add(path, 0, ms)
	}
	return nil
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return string(out), nil
}
