package engine_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/inventory"
)

// sim is a simulation of one cluster and two graphs with a driver each. Time advances
// when no work is left at an instant. A seed determines everything.
type sim struct {
	seed   uint64
	random *rand.Rand
	now    time.Time
	// skew is what the wall clock differs from now. It changes when the clock jumps.
	skew    time.Duration
	timers  timers
	count   int
	cluster *cluster
	runs    []*run
	chaos   bool                        // requests fail, users change objects, processes crash
	meddled map[inventory.Key]time.Time // when others last changed an object
	dropped map[inventory.Key]bool      // by the graph that it was handed over to a moment ago
	trace   []string
}

// broken is the panic value of a simulation whose invariant doesn't hold.
type broken string

// longest is the maximum delay of an event or an answer.
const longest = 2 * time.Second

func newSim(seed uint64) *sim {
	s := &sim{seed: seed, random: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), chaos: true,
		dropped: map[inventory.Key]bool{}, meddled: map[inventory.Key]time.Time{}}
	s.cluster = newCluster(s)
	return s
}

// wall returns the time of the wall clock.
func (s *sim) wall() time.Time { return s.now.Add(s.skew) }

func (s *sim) chance(p float64) bool { return s.random.Float64() < p }

func (s *sim) upTo(d time.Duration) time.Duration { return time.Duration(s.random.Int64N(int64(d))) }

func (s *sim) pick(n int) int { return s.random.IntN(n) }

func (s *sim) logf(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf("%9.3f ", s.now.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds())+fmt.Sprintf(format, args...))
}

func (s *sim) fail(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

type timer struct {
	at time.Time
	n  int
	do func()
}

type timers []timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at.Before(t[j].at) || t[i].at.Equal(t[j].at) && t[i].n < t[j].n
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)   { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

func (s *sim) after(d time.Duration, do func()) {
	s.count++
	heap.Push(&s.timers, timer{s.now.Add(d), s.count, do})
}

// until advances the time until a condition holds or nothing happens any more. It
// reports whether the condition holds.
func (s *sim) until(done func() bool, most time.Duration) bool {
	end := s.now.Add(most)
	for range 50_000 {
		if done() {
			return true
		}
		if len(s.timers) == 0 || s.timers[0].at.After(end) {
			s.now = end
			return done()
		}
		next := heap.Pop(&s.timers).(timer)
		s.now = next.at
		next.do()
		for _, r := range s.runs {
			r.noteGood()
		}
	}
	s.fail("no end: 50,000 events")
	return false
}

// notify sends a change to the watches: late, and sometimes twice.
func (s *sim) notify(before, now *unstructured.Unstructured, gone bool) {
	s.logf("  cluster: %s v%s%s", now.GetName(), now.GetResourceVersion(), map[bool]string{true: " gone"}[gone])
	for _, r := range s.runs {
		for ok := true; ok; ok = s.chaos && s.chance(0.1) {
			r.watch(before, now, gone)
		}
	}
}

func (s *sim) report(what any) string {
	trace := s.trace
	if len(trace) > 3000 {
		trace = trace[len(trace)-3000:]
	}
	return fmt.Sprintf("seed %d:\n%s\n%v", s.seed, strings.Join(trace, "\n"), what)
}
