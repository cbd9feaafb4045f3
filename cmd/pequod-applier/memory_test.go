package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// memoryLimit is a cgroup with a limit of its memory, as kubelet creates for a
// container.
type memoryLimit struct {
	dir   string
	kills string // the file with the number of killed processes
}

// limitMemory makes a command that isn't started yet run in a cgroup with a limit
// of bytes. It returns an error if this process may not create cgroups.
func limitMemory(t *testing.T, cmd *exec.Cmd, bytes int64) (*memoryLimit, error) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		hierarchy := strings.SplitN(line, ":", 3) // id, controllers, path
		if len(hierarchy) < 3 {
			continue
		}
		var parents []string
		file, kills := "memory.max", "memory.events"
		switch hierarchy[1] {
		case "memory": // version 1
			parents = []string{filepath.Join("/sys/fs/cgroup/memory", hierarchy[2])}
			file, kills = "memory.limit_in_bytes", "memory.oom_control"
		case "": // version 2: a group with processes has no children with limits
			own := filepath.Join("/sys/fs/cgroup", hierarchy[2])
			parents = []string{own, filepath.Dir(own)}
		}
		for _, parent := range parents {
			l := &memoryLimit{dir: filepath.Join(parent, fmt.Sprintf("pequod-applier-%d", os.Getpid()))}
			l.kills = filepath.Join(l.dir, kills)
			if err := l.create(file, bytes); err != nil {
				errs = append(errs, err)
				continue
			}
			t.Cleanup(func() {
				if err := os.Remove(l.dir); err != nil {
					t.Log(err)
				}
			})
			// The shell enters the group, so the memory of the program is counted from
			// its start.
			cmd.Args = append([]string{"sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(l.dir, "cgroup.procs")}, cmd.Args...)
			if cmd.Path, err = exec.LookPath("sh"); err != nil {
				return nil, err
			}
			return l, nil
		}
	}
	return nil, errors.Join(errs...)
}

// create creates the group and sets its limit.
func (l *memoryLimit) create(file string, bytes int64) error {
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		return err
	}
	err := os.WriteFile(filepath.Join(l.dir, file), []byte(strconv.FormatInt(bytes, 10)), 0)
	if err == nil {
		_, err = os.Stat(l.kills)
	}
	if err != nil {
		return errors.Join(err, os.Remove(l.dir))
	}
	return nil
}

// killed returns how many processes of the group were killed for lack of memory.
func (l *memoryLimit) killed(t *testing.T) int {
	t.Helper()
	return int(field(t, l.kills, "oom_kill"))
}

// peakMemory returns the highest resident memory of a process in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	return field(t, fmt.Sprintf("/proc/%d/status", pid), "VmHWM:") << 10
}

// field returns the number after a name in a file with one name in each line.
func field(t *testing.T, file, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			n, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s: no %s", file, name)
	return 0
}
