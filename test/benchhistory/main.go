// Command benchhistory runs benchmarks, adds their results to a history, and writes it as a page:
//
//	go run ./test/benchhistory docs/benchmarks.json docs/benchmarks.md make bench BENCH=Process
//
// It reads what make bench and make bench-cluster print, and passes it on. It records the commit, the
// machine and its load at the beginning: times of a machine that does other work can't be compared.
// Without a command it only writes the page.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Run is one run of benchmarks on one machine.
type Run struct {
	Date    string   `json:"date"` // as 2026-11-27
	Commit  string   `json:"commit"`
	CPU     string   `json:"cpu"`
	Cores   int      `json:"cores"`
	Go      string   `json:"go"`
	Load    string   `json:"load"` // processes that ran or waited, over a minute, before the run
	Results []Result `json:"results"`
}

// Result is one figure. Its text is as it was printed, so that it has the digits that were measured.
type Result struct {
	Benchmark string `json:"benchmark"`
	Unit      string `json:"unit"`
	Value     string `json:"value"`
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: benchhistory HISTORY.json PAGE.md [COMMAND...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchhistory:", err)
		os.Exit(1)
	}
}

// run adds what a command prints to the history, if there is one, and writes the page.
func run(history, page string, command []string) error {
	runs, err := read(history)
	if err != nil {
		return err
	}
	if len(command) > 0 {
		added, err := measure(command)
		if err != nil {
			return err
		}
		runs = append(runs, added)
		data, err := json.MarshalIndent(runs, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(history, append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(page, []byte(pageOf(runs)), 0o644)
}

// measure runs a command, and returns the results that it prints. Results of a command that fails don't
// count.
func measure(command []string) (Run, error) {
	r, err := machine()
	if err != nil {
		return r, err
	}
	var text strings.Builder
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&text, os.Stdout), os.Stderr
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	if r.CPU, r.Results = parse(text.String()); len(r.Results) == 0 {
		return r, fmt.Errorf("%s prints no results of benchmarks", strings.Join(command, " "))
	}
	return r, nil
}

// read returns the runs of a history, which may not exist.
func read(history string) (runs []Run, err error) {
	data, err := os.ReadFile(history)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &runs); err != nil {
		return nil, fmt.Errorf("%s: %w", history, err)
	}
	return runs, nil
}

// machine returns a run of now, of the commit of this checkout and on this machine.
func machine() (Run, error) {
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return Run{}, fmt.Errorf("git describe: %w", err)
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil { // Linux only
		load = strings.Fields(string(text))[0]
	}
	return Run{
		Date: time.Now().UTC().Format(time.DateOnly), Commit: strings.TrimSpace(string(commit)),
		Cores: runtime.NumCPU(), Go: runtime.Version(), Load: load,
	}, nil
}
