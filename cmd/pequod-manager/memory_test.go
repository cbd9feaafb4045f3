package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/process"
)

// checkMemory checks that the memory of the manager and its processes, in which pages that they
// share count once, is below what the Deployment requests.
func checkMemory(t *testing.T, p *process.Process) {
	t.Helper()
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Log(err) // not Linux
		return
	}
	pid := p.Cmd.Process.Pid
	manager, children := proportional(t, strconv.Itoa(pid)), 0
	for _, child := range childrenOf(t, pid) {
		children += proportional(t, child)
	}
	requested := requestedMemory(t)
	t.Logf("the manager has %d MiB, its processes %d MiB; requested are %d MiB", manager>>20, children>>20, requested>>20)
	if children == 0 || manager+children > requested {
		t.Errorf("%d bytes are more than the %d that are requested, or there are no processes", manager+children, requested)
	}
}

// childrenOf returns the processes that a process has started.
func childrenOf(t *testing.T, pid int) (children []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), fmt.Sprintf("\nPPid:\t%d\n", pid)) {
			children = append(children, filepath.Base(filepath.Dir(file)))
		}
	}
	return children
}

// proportional returns the memory of a process in bytes. Each page counts in equal parts for the
// processes that share it.
func proportional(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", pid, "smaps_rollup"))
	if err != nil {
		return 0 // it has ended
	}
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, err := strconv.Atoi(strings.Fields(size)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("process %s has no Pss:\n%s", pid, text)
	return 0
}

// requestedMemory returns the memory that the installed container requests.
func requestedMemory(t *testing.T) int {
	t.Helper()
	for doc := range strings.SplitSeq(string(config.Operator), "\n---\n") {
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(doc), &d); err == nil && d.Kind == "Deployment" {
			return int(d.Spec.Template.Spec.Containers[0].Resources.Requests.Memory().Value())
		}
	}
	t.Fatal("no Deployment is installed")
	return 0
}
