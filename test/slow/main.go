// Command slow runs a command, and all processes that it starts, with a part of a processor, as on a small or
// busy node: go run ./test/slow 0.5 go test ./test/demo. It needs Linux and the right to create cgroups.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// period is the period of the quota in microseconds, which is that of Kubernetes.
const period = 100_000

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "slow:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

// run returns the exit code of the command.
func run(args []string) (code int, err error) {
	if len(args) < 2 {
		return 0, errors.New("usage: slow PROCESSORS COMMAND [ARGUMENT…]")
	}
	share, err := strconv.ParseFloat(args[0], 64)
	if err != nil || share <= 0 {
		return 0, fmt.Errorf("%q is no number of processors, such as 0.5", args[0])
	}
	dir, err := limit(int(share * period))
	if err != nil {
		return 0, err
	}
	// A group with processes can't be removed, so what the command has left behind is reported.
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	// The shell enters the group, so everything that it starts is in it.
	command := exec.Command("sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(dir, "cgroup.procs")}, args[1:]...)...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// limit creates a cgroup whose processes have quota microseconds of each period, and returns its directory.
func limit(quota int) (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	var errs []error
	for line := range strings.Lines(string(text)) {
		hierarchy := strings.SplitN(strings.TrimSpace(line), ":", 3) // id, controllers, path
		if len(hierarchy) < 3 {
			continue
		}
		var parents []string
		settings := map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": strconv.Itoa(quota)}
		switch hierarchy[1] {
		case "cpu", "cpu,cpuacct": // version 1
			parents = []string{filepath.Join("/sys/fs/cgroup", hierarchy[1], hierarchy[2])}
		case "": // version 2: a group with processes has no children with limits
			own := filepath.Join("/sys/fs/cgroup", hierarchy[2])
			parents, settings = []string{own, filepath.Dir(own)}, map[string]string{"cpu.max": fmt.Sprintf("%d %d", quota, period)}
		}
		for _, parent := range parents {
			dir := filepath.Join(parent, fmt.Sprintf("pequod-slow-%d", os.Getpid()))
			if err := create(dir, settings); err != nil {
				errs = append(errs, err)
				continue
			}
			return dir, nil
		}
	}
	return "", errors.Join(append(errs, errors.New("no cgroup can be created: run it as root, on Linux"))...)
}

// create creates a cgroup with settings, by the names of their files.
func create(dir string, settings map[string]string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, value := range settings {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0); err != nil {
			return errors.Join(err, os.Remove(dir))
		}
	}
	return nil
}
