package forecast

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// subject is the change that a condition is asked about.
type subject struct {
	sides *sides
	diff  *objectdiff.ObjectDiff
	leaf  leaf // of a field; zero for a condition of the whole object
}

// detail is what a condition adds to a consequence.
type detail struct {
	pods     int
	allNodes bool
	text     string // completes the reason
}

// meets reports whether a condition is met. Conditions are joined with " and ":
//
//	FIELD is VALUE    the field has this value after the change; VALUE may be unset
//	FIELD was VALUE   the field had this value before the change
//	NAME              see named
//
// A condition that doesn't exist is not met; a test reads all of them.
func (s *subject) meets(when string) (detail, bool) {
	var all detail
	if when == "" {
		return all, true
	}
	for part := range strings.SplitSeq(when, " and ") {
		d, ok := s.one(part)
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

// one reports whether a single condition is met.
func (s *subject) one(when string) (detail, bool) {
	if f := named(when); f != nil {
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

// named returns a condition by its name, or nil.
func named(name string) func(*subject) (detail, bool) {
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
	case "it was 0":
		return plain(func(s *subject) bool { return s.leaf.before == int64(0) })
	case "it stays in the cluster":
		return plain(func(s *subject) bool { return s.diff.Old() != nil && s.diff.Old().Stays() })
	case "no Pods run":
		return plain(func(s *subject) bool { n, onNodes := s.running(); return n == 0 && !onNodes })
	case "one Pod runs":
		return plain(func(s *subject) bool { n, _ := s.running(); return n == 1 })
	case "an autoscaler targets it":
		return (*subject).autoscaled
	}
	return nil
}

// plain is a condition without details.
func plain(f func(*subject) bool) func(*subject) (detail, bool) {
	return func(s *subject) (detail, bool) { return detail{}, f(s) }
}

// before returns the field or object before the change, or nil.
func (s *subject) before() any {
	if s.leaf.keys != nil {
		return s.leaf.before
	}
	if o := s.diff.Old(); o != nil {
		return o
	}
	return nil
}

// after returns the field or object after the change, or nil.
func (s *subject) after() any {
	if s.leaf.keys != nil {
		return s.leaf.after
	}
	if o := s.diff.New(); o != nil {
		return o
	}
	return nil
}

// compare compares the quantities or numbers of a leaf. It returns 0 if they can't be
// compared.
func (s *subject) compare() int {
	x, err := resource.ParseQuantity(fmt.Sprint(s.leaf.before))
	if err != nil {
		return 0
	}
	y, err := resource.ParseQuantity(fmt.Sprint(s.leaf.after))
	if err != nil {
		return 0
	}
	return y.Cmp(x)
}

// autoscaled reports whether an autoscaler sets the replicas of the object after the
// change.
func (s *subject) autoscaled() (detail, bool) {
	if s.diff.New() == nil {
		return detail{}, false
	}
	a, ok := s.sides.after.autoscalerOf(s.diff.New())
	return detail{text: a.object.String()}, ok
}
