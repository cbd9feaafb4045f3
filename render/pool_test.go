package render

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestLimits runs jobs that never end. A job that is given up goes on in the
// background, so each test runs in a process of its own.
func TestLimits(t *testing.T) {
	jobs := map[string]struct {
		limits Limits
		run    func() int
		want   string
	}{
		"time":   {Limits{Timeout: 50 * time.Millisecond}, forever, "evaluation took longer than 50ms"},
		"heap":   {Limits{Memory: 200 << 20}, hoard, "evaluation used more than 200 MiB; --eval-memory sets the limit"},
		"after":  {Limits{Memory: 200 << 20}, hoard, "evaluation used more than 200 MiB after 2 others; --eval-memory sets the limit"},
		"stack":  {Limits{Memory: 1 << 30}, func() int { return deeper([128]int{}) }, "evaluation recursed too deeply"},
		"depth":  {Limits{}, func() int { return deeper([128]int{}) }, "evaluation recursed too deeply"},
		"panics": {Limits{}, func() int { panic("oops") }, "evaluation panicked: oops"},
	}
	if name := os.Getenv("PEQUOD_TEST_LIMIT"); name != "" {
		j := jobs[name]
		names := []string{"job"}
		if name == "after" {
			names = []string{"one", "two", "job"}
		}
		_, err := Map(context.Background(), j.limits, names, func(name string) Subject { return Subject{Name: name} }, func(name string) (int, error) {
			if name != "job" {
				return 0, nil
			}
			return j.run(), nil
		})
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Subject != "job" || limit.Reason != j.want {
			t.Errorf("error %v; want job: %s", err, j.want)
		}
		return
	}
	for name := range jobs {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestLimits$")
			// A program under the race detector sleeps before it exits, while the job goes on.
			cmd.Env = append(os.Environ(), "PEQUOD_TEST_LIMIT="+name, "GORACE=atexit_sleep_ms=0")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
				t.Errorf("%v\n%.2000s", err, out)
			}
		})
	}
}

func forever() int {
	for i := 0; ; i++ {
		if i < 0 {
			return i
		}
	}
}

func hoard() int {
	var all [][]byte
	for n := 1; n > 0; n++ {
		all = append(all, bytes.Repeat([]byte{1}, 1<<20))
	}
	return len(all)
}

// deeper recurses without end, with frames of some size.
func deeper(frame [128]int) int {
	if frame[0]++; frame[0] < 0 {
		return 0
	}
	return deeper(frame) + frame[1]
}
