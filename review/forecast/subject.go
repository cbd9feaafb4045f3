package forecast

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// sides are the objects before and after a change.
type sides struct {
	// live is not nil if the API server has checked the change in a dry run.
	live          *live
	before, after tree
	changed       map[objectdiff.Key]*objectdiff.ObjectDiff
}

// live has the facts of a cluster that the objects of both sides lack.
type live struct{ used Used }

// Used has the amounts that live ResourceQuotas count, by their resources. They include
// objects that are on neither side.
type Used map[objectdiff.Key]map[string]string

// restarts reports whether the Pods of a workload are replaced by the same change.
func (s *sides) restarts(w *objectdiff.Object) bool {
	o := s.changed[w.Key]
	if o == nil || w.Kind == "ReplicaSet" || w.Kind == "CronJob" {
		return false
	}
	template := strings.Join(append(templatePath(w.Key), ""), ".")
	return slices.ContainsFunc(o.Changes, func(c objectdiff.Change) bool {
		return template != "" && strings.HasPrefix(strings.Join(c.Path.Keys(), ".")+".", template)
	})
}

// subject is the change that a condition is asked about.
type subject struct {
	sides *sides
	diff  *objectdiff.ObjectDiff
	leaf  leaf // of a field; zero for a condition of the whole object
}

// detail is the addition of a condition to a consequence.
type detail struct {
	pods     int
	allNodes bool
	text     string // completes the reason
}

// unchecked reports whether there is a warning that the API server couldn't check the object.
func (s *subject) unchecked() bool {
	return slices.ContainsFunc(s.diff.Warnings, func(w problem.Problem) bool { return w.Rule == objectdiff.RuleUnchecked })
}

// running returns the number of Pods that run before the change.
func (s *subject) running() (n int, onNodes bool) {
	if s.diff.Old() == nil {
		return 0, false
	}
	return s.sides.before.count(s.diff.Old())
}

// pods returns the number of Pods that run before the change as a detail.
func (s *subject) pods() (d detail) {
	d.pods, d.allNodes = s.running()
	return d
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
	x, ok := quantity(s.leaf.last(), s.leaf.before)
	if !ok {
		return 0
	}
	y, ok := quantity(s.leaf.last(), s.leaf.after)
	if !ok {
		return 0
	}
	return y.Cmp(x)
}

// quantity returns a value of a field as a quantity. A number of Pods that isn't set is
// 1.
func quantity(field string, v any) (resource.Quantity, bool) {
	if v == nil && (field == "replicas" || field == "parallelism") {
		v = int64(1)
	}
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, err == nil
}
