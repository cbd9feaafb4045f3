package engine_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

var (
	seeds     = flag.Int("engine.seeds", 400, "how many simulations TestModel runs")
	firstSeed = flag.Uint64("engine.seed", 0, "the seed of the first")
)

// TestModel simulates two graphs while users edit them, move objects between them and
// change objects by hand, processes crash, requests fail, watches are late, the wall
// clock jumps, inventories are lost, and versions and kinds stop being served. When
// the disturbances end, the cluster must contain exactly the desired objects. At no
// time may an object be written or deleted that must not be. The flags
// -engine.seed N -engine.seeds 1 repeat one simulation.
func TestModel(t *testing.T) {
	for n := range *seeds {
		seed := *firstSeed + uint64(n)
		if report := simulate(seed); report != "" {
			t.Fatal(report)
		}
	}
}

// simulate runs one simulation. It reports a broken invariant together with the log.
func simulate(seed uint64) (report string) {
	s := newSim(seed)
	defer func() {
		if r := recover(); r != nil {
			if why, ok := r.(broken); ok {
				report = s.report(why)
				return
			}
			fmt.Println(s.report(r))
			panic(r)
		}
	}()
	for _, name := range []string{"a", "b"} {
		r := &run{
			s: s, owner: inventory.Owner{Namespace: "default", Name: name},
			good: map[inventory.Key]time.Time{}, listed: map[inventory.Key]time.Time{}, ran: map[inventory.Key]time.Time{},
			last: map[inventory.Key]lastPlanned{}, everAdopted: map[inventory.Key]bool{},
		}
		r.options = engine.Options{Prune: true, AllowEmpty: true, ForceConflicts: s.chance(0.3), IntentImplied: s.chance(0.5)}
		if s.chance(0.5) {
			r.options.PruneGrace = 30 * time.Second
			r.options.Wall = s.wall
		}
		if s.chance(0.5) {
			r.options.ExplainInterval = 10 * time.Second
		}
		// A new watch doesn't report earlier events, so polls are needed to notice
		// them.
		r.options.PollInterval = []time.Duration{5 * time.Second, 30 * time.Second}[s.pick(2)]
		if s.chance(0.5) {
			r.options.Backoff.Jitter = s.random.Float64
		}
		s.runs = append(s.runs, r)
	}
	for _, r := range s.runs {
		for range 2 + s.pick(5) {
			s.edit(r)
		}
		r.restart()
	}
	for range 2 + s.pick(12) {
		s.until(never, s.upTo(20*time.Second))
		s.disturb()
	}
	s.until(never, s.upTo(30*time.Second))
	s.quiet()
	s.repair()
	s.converge()
	s.checkEnd()
	s.checkCalm()
	if s.chance(0.3) {
		s.checkBranches()
	}
	if s.chance(0.5) {
		s.removeAll()
	}
	return ""
}

func never() bool { return false }

// quiet ends the disturbances: requests in flight don't fail any more.
func (s *sim) quiet() {
	s.logf("--- quiet")
	s.chaos = false
	for _, r := range s.runs {
		if r.engine != nil {
			r.crash()
		}
	}
	s.until(never, 2*longest+10*time.Second)
}

// converge runs the graphs until no work is left. A graph may have to wait until the
// other one hands an object over.
func (s *sim) converge() {
	for range 5 {
		settled := true
		s.repair()
		for _, r := range s.runs {
			r.writes, r.records = 0, 0
			r.restart()
		}
		if !s.until(func() bool { return s.ended() }, 2*time.Hour) {
			s.fail("the graphs don't come to an end: %s, %s", s.runs[0].phase, s.runs[1].phase)
		}
		for _, r := range s.runs {
			settled = settled && r.phase == engine.Completed && r.writes+r.records == 0
		}
		if settled {
			return
		}
	}
	s.fail("the graphs don't complete: %s, %s", s.runs[0].phase, s.runs[1].phase)
}

func (s *sim) ended() bool {
	for _, r := range s.runs {
		if r.kicked || r.flying > 0 || !r.engine.NextPrune().IsZero() || r.phase != engine.Completed && r.phase != engine.Stuck {
			return false
		}
	}
	return true
}

// checkCalm checks that a converged graph causes no writes, neither by its engine nor
// by a new one.
func (s *sim) checkCalm() {
	for _, r := range s.runs {
		if step := r.engine.Step(s.now); len(step.Actions) > 0 || step.Phase != engine.Completed {
			s.fail("%s: completed, and yet: %s %v", r.id(), step.Phase, step.Actions)
		}
		r.crash()
		r.writes, r.records = 0, 0
		r.start()
	}
	if !s.until(s.ended, time.Hour) {
		s.fail("the unchanged second run doesn't end")
	}
	for _, r := range s.runs {
		if r.phase != engine.Completed || r.writes > 0 || r.records > 0 {
			s.fail("%s: the unchanged second run is %s after %d writes and %d records", r.id(), r.phase, r.writes, r.records)
		}
	}
}

// checkBranches checks that a node which failed for good blocks its dependents and no
// other node.
func (s *sim) checkBranches() {
	r := s.runs[s.pick(2)]
	r.graph = r.graph.clone()
	behind := map[string]bool{}
	for i := range r.graph.nodes {
		n := &r.graph.nodes[i]
		if len(behind) == 0 && n.name[0] == 't' && !n.create {
			n.fields["behave"] = "fail"
			behind[n.name] = true
		}
		n.fields["b"] = "of the branch"
		for _, need := range n.allNeeds() {
			if behind[need] {
				behind[n.name] = true
			}
		}
	}
	if len(behind) == 0 {
		return
	}
	s.logf("--- branches")
	r.restart()
	if !s.until(s.ended, time.Hour) || r.phase != engine.Stuck {
		s.fail("%s: a node failed for good, and the graph is %s", r.id(), r.phase)
	}
	for _, n := range r.graph.nodes {
		o := s.cluster.objects[keyOf(n.name)]
		if r.isDone(keyOf(n.name)) {
			continue
		}
		if !behind[n.name] && (!o.good() || !n.create && n.holds(s.cluster, o) != nil) {
			s.fail("%s: %s doesn't need what failed, and isn't done: %v", r.id(), n.name, n.holds(s.cluster, o))
		}
	}
	s.repair()
	s.converge()
	s.checkEnd()
}

// removeAll deletes both graphs during disturbances.
func (s *sim) removeAll() {
	s.logf("--- delete")
	s.chaos = true
	for _, r := range s.runs {
		r.removed = true
		if s.chance(0.3) {
			s.logf("%s: its inventory is lost", r.id())
			r.lose()
		}
		r.restart()
		if s.chance(0.3) {
			s.disturbKind()
		}
	}
	for range s.pick(4) {
		s.until(never, s.upTo(10*time.Second))
		r := s.runs[s.pick(2)]
		r.crash()
		s.after(s.upTo(10*time.Second), r.restart)
	}
	s.until(never, 40*time.Second)
	s.quiet()
	s.converge()
	s.checkEnd()
}
