package forecast

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// affected returns the readings that a change concerns: a variable reads only one key.
// Workloads that are only on one side are left out, because their Pods start with the
// new values.
func (s *subject) affected() []reading {
	if s.diff.Old() == nil {
		return nil
	}
	key := ""
	if len(s.leaf.keys) == 2 { // data.KEY
		key = s.leaf.keys[1]
	}
	return slices.DeleteFunc(slices.Clone(s.sides.before.readings[s.diff.Key]), func(r reading) bool {
		return r.key != "" && key != "" && r.key != key || s.sides.after.all[r.workload.Key] == nil ||
			s.diff.New() == nil && !s.sides.after.needs(s.diff.Key, r.workload.Key)
	})
}

// readAtStart reports whether Pods read the object only when they start, and keep
// running.
func (s *subject) readAtStart() (detail, bool) {
	return s.readers(func(r reading) bool {
		return r.atStart() && r.workload.Kind != "CronJob" && !s.sides.restarts(r.workload)
	})
}

// mounted reports whether Pods mount the object in a way that shows new values.
func (s *subject) mounted() (detail, bool) {
	return s.readers(func(r reading) bool { return !r.atStart() })
}

// readersRestart reports whether Pods read the object when they start, and restart.
func (s *subject) readersRestart() (detail, bool) {
	return s.readers(func(r reading) bool { return r.atStart() && s.sides.restarts(r.workload) })
}

// readers returns the workloads with a reading, with the number of their Pods.
func (s *subject) readers(is func(reading) bool) (detail, bool) {
	var d detail
	var names []string
	counted := map[objectdiff.Key]bool{}
	for _, r := range s.affected() {
		if !is(r) {
			continue
		}
		if name := r.workload.String() + " (" + r.how + ")"; !slices.Contains(names, name) {
			names = append(names, name)
		}
		if !counted[r.workload.Key] {
			counted[r.workload.Key] = true
			n, onNodes := s.sides.before.count(r.workload)
			d.pods, d.allNodes = d.pods+n, d.allNodes || onNodes
		}
	}
	slices.Sort(names)
	d.text = strings.Join(names, ", ")
	return d, len(names) > 0
}

// needed reports whether workloads after the change need the object to start their Pods, and
// names them.
func (s *subject) needed() (detail, bool) {
	var names []string
	for _, r := range s.sides.after.needed[s.diff.Key] {
		if name := r.workload.String() + " (" + r.how + ")"; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return detail{text: strings.Join(names, ", ")}, len(names) > 0
}
