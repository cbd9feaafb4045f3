package outdir

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The variables describe a run that makes every kind of change.
var (
	crashMine   = files{"gone/mine.yaml": "mine", "mine.txt": "mine", "c/mine.yaml": "mine"}
	crashBefore = join(crashMine, written(files{"a/same.yaml": "1", "a/changed.yaml": "1", "a/dropped.yaml": "1", "b/dropped.yaml": "1", "e/a/dropped.yaml": "1", "f/a/changed.yaml": "1"}))
	crashRun    = files{"a/same.yaml": "1", "a/changed.yaml": "2", "a/new.yaml": "2", "c/new.yaml": "2", "d/new.yaml": "2", "f/a/changed.yaml": "2", "g/a/new.yaml": "2"}
	crashAfter  = join(crashMine, written(crashRun))
)

// failAt makes the n-th step fail or, with errKilled, kills the run there. The returned
// slice has the steps up to then.
func failAt(n int, err error) (func(string) error, *[]string) {
	var steps []string
	return func(what string) error {
		steps = append(steps, what)
		if len(steps) == n {
			if errors.Is(err, errKilled) {
				panic(err)
			}
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}, &steps
}

// wantFiles is wantTree without empty directories. A killed run may leave some, and
// the next run can't tell them from the user's.
func wantFiles(t *testing.T, dir string, want files) {
	t.Helper()
	got := read(t, dir)
	maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", dir, diff)
	}
}

// If a run is killed or fails at any step, the next run still reaches exactly the right
// state, and so does a rollback.
func TestKilledAtEveryStep(t *testing.T) {
	for _, failure := range []error{errKilled, errors.New("no space left on device")} {
		for n := 1; ; n++ {
			dir := output(t)
			put(t, dir, crashBefore)
			step, steps := failAt(n, failure)
			err := write(dir, crashRun, Options{Prune: true}, step)
			if err == nil {
				if n < 15 {
					t.Errorf("only %d steps: %q", n-1, *steps)
				}
				wantTree(t, dir, crashAfter)
				break
			}
			what := fmt.Sprintf("%v at %d: %s", failure, n, (*steps)[n-1])
			t.Run(what, func(t *testing.T) {
				halfway := read(t, dir)
				for name := range crashMine {
					if halfway[name] != "mine" {
						t.Errorf("%s: %q", name, halfway[name])
					}
				}
				if !errors.Is(failure, errKilled) {
					for name := range halfway {
						if strings.Contains(name, stagePrefix) || strings.Contains(name, probeName) {
							t.Errorf("left behind: %s", name)
						}
					}
				}
				if n%2 == 0 { // roll back, like CI after git revert
					mustWrite(t, dir, files{"a/same.yaml": "1"}, Options{Prune: true})
					wantFiles(t, dir, join(crashMine, written(files{"a/same.yaml": "1"})))
				}
				if n%3 == 0 { // prune everything
					mustWrite(t, dir, nil, Options{Prune: true, AllowEmpty: true})
					wantFiles(t, dir, crashMine)
				}
				mustWrite(t, dir, crashRun, Options{Prune: true})
				wantFiles(t, dir, crashAfter)
			})
		}
	}
}

// Random runs, some of them killed, are compared with a simple model.
func TestRandomRuns(t *testing.T) {
	for seed := range int64(25) {
		random := rand.New(rand.NewSource(seed))
		dir := output(t)
		mine := files{"a/mine.yaml": "mine", "m/mine.yaml": "mine", "top.yaml": "mine"}
		put(t, dir, mine)
		for range 12 {
			run := files{}
			for _, path := range []string{"a/1.yaml", "a/2.yaml", "b/1.yaml", "b/2.yaml", "c/1.yaml", "m/1.yaml"} {
				if random.Intn(2) == 0 {
					run[path] = fmt.Sprint(random.Intn(2))
				}
			}
			o := Options{Prune: random.Intn(2) == 0, AllowEmpty: true}
			before := read(t, dir)
			var step func(string) error
			if random.Intn(2) == 0 {
				step, _ = failAt(1+random.Intn(15), errKilled)
			}
			err := write(dir, run, o, step)
			got := read(t, dir)
			if err != nil {
				if !errors.Is(err, errKilled) {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for name := range mine {
					if got[name] != "mine" {
						t.Fatalf("seed %d: %s is %q", seed, name, got[name])
					}
				}
				continue
			}
			want := maps.Clone(mine)
			if !o.Prune {
				for name, text := range before {
					if valid(name) {
						want[name] = text
					}
				}
			}
			maps.Copy(want, written(run))
			for name := range got {
				if strings.HasSuffix(name, "/") {
					// Empty directories that a killed run created or emptied.
					want[name] = ""
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
	}
}
