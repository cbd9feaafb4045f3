package forecast

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// meets reports whether a condition is met. Parts are joined with " and ":
//
//	FIELD is VALUE    the field has this value after the change; VALUE may be "unset"
//	FIELD was VALUE   the field had this value before the change
//	NAME              see condition
//
// A condition that doesn't exist is not met; [Table.Check] finds those.
func meets(s *subject, when string) (detail, bool) {
	var all detail
	if when == "" {
		return all, true
	}
	for part := range strings.SplitSeq(when, " and ") {
		d, ok := one(s, part)
		if !ok {
			return detail{}, false
		}
		all.pods, all.allNodes = max(all.pods, d.pods), all.allNodes || d.allNodes
		if all.text == "" {
			all.text = d.text
		}
	}
	return all, true
}

// one reports whether a part of a condition is met.
func one(s *subject, when string) (detail, bool) {
	if f := condition(when); f != nil {
		return f(s)
	}
	field, want, ok := strings.Cut(when, " is ")
	o := s.diff.New()
	if !ok {
		field, want, ok = strings.Cut(when, " was ")
		o = s.diff.Old()
	}
	return detail{}, ok && o != nil && has(o, field, want)
}

// has reports whether a field of an object has a value, given as text.
func has(o *objectdiff.Object, field, want string) bool {
	v := value(o, field)
	if v == nil {
		return want == "unset"
	}
	return fmt.Sprint(v) == want
}

// Check returns an error for the first rule that can never hold: its effect or its
// condition doesn't exist, or another rule hides it.
func (t Table) Check() error {
	seen := map[string]bool{}
	for _, r := range t {
		if r.Effect.Severity() < 0 {
			return fmt.Errorf("rule %q: there is no effect %q", r.ID(), r.Effect)
		}
		hidden := r.Kind + " " + r.Field
		if seen[hidden] || seen[r.ID()] {
			return fmt.Errorf("rule %q: an earlier rule hides it", r.ID())
		}
		seen[r.ID()] = true
		if r.When == "" {
			seen[hidden] = true
			continue
		}
		for part := range strings.SplitSeq(r.When, " and ") {
			if condition(part) == nil && !strings.Contains(part, " is ") && !strings.Contains(part, " was ") {
				return fmt.Errorf("rule %q: there is no condition %q", r.ID(), part)
			}
		}
	}
	return nil
}

// condition returns a condition by its name, or nil.
func condition(name string) func(*subject) (detail, bool) {
	switch name {
	case "added":
		return plain(func(s *subject) bool { return s.before() == nil })
	case "removed":
		return plain(func(s *subject) bool { return s.after() == nil })
	case "it grows":
		return plain(func(s *subject) bool { return s.compare() > 0 })
	case "it shrinks":
		return plain(func(s *subject) bool { return s.compare() < 0 })
	case "it becomes 0":
		return plain(func(s *subject) bool { return s.leaf.after == int64(0) })
	case "it is the default of the API server":
		return plain(func(s *subject) bool { return s.leaf.defaulted() })
	case "the graph keeps it":
		return plain(func(s *subject) bool { return s.diff.New() == nil && s.diff.Old().Stays() })
	case "no Pods run":
		return plain(func(s *subject) bool { n, onNodes := s.running(); return n == 0 && !onNodes })
	case "one Pod runs":
		return plain(func(s *subject) bool { n, _ := s.running(); return n == 1 })
	case "its labels don't match spec.selector":
		return plain((*subject).mismatched)
	case "all Pods may be unavailable":
		return plain((*subject).allUnavailable)
	case "the ordinals shift":
		return (*subject).shifted
	case "the partition covers all Pods":
		return plain(func(s *subject) bool { n, _ := s.running(); return n > 0 && s.partition() >= n })
	case "the partition covers some Pods":
		return func(s *subject) (detail, bool) {
			n, _ := s.running()
			return detail{pods: n - s.partition()}, s.partition() > 0 && s.partition() < n
		}
	}
	return several(name)
}

// several returns a condition that concerns several objects, or nil.
func several(name string) func(*subject) (detail, bool) {
	switch name {
	case "an autoscaler targets it":
		return (*subject).autoscaled
	case "its target sets spec.replicas":
		return (*subject).targetSetsReplicas
	case "Pods read it at their start":
		return (*subject).readAtStart
	case "Pods mount it":
		return (*subject).mounted
	case "Pods need it":
		return (*subject).needed
	case "its readers restart with this change":
		return (*subject).readersRestart
	case "its volume is kept":
		return plain((*subject).volumeKept)
	case "its class allows no growth":
		return plain(func(s *subject) bool { allowed, known := s.growth(); return known && !allowed })
	case "its class allows growth":
		return plain(func(s *subject) bool { allowed, known := s.growth(); return known && allowed })
	case "no Pods that run match":
		return plain((*subject).losesEndpoints)
	case "a Service has no other Pods":
		return plain((*subject).takesEndpoints)
	case "another entry has the port":
		return plain((*subject).portKept)
	case "a stored version is removed":
		return plain((*subject).storedVersionRemoved)
	case "a quota is exceeded":
		return (*subject).exceedsQuota
	}
	return nil
}

// plain is a condition without details.
func plain(f func(*subject) bool) func(*subject) (detail, bool) {
	return func(s *subject) (detail, bool) { return detail{}, f(s) }
}
