package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// surveys read the objects of graphs, each as its graph's account. Where many
// wait to be read, as when the applier has just started, what the applier watches
// by itself is listed once for all of them, as itself.
type surveys struct {
	c *controller

	mu      sync.Mutex
	waiting []*survey
	busy    bool // a list for all is under way
}

// survey is one that was asked for.
type survey struct {
	run    *run
	action *engine.Action
	shared bool // the applier may list all that is looked for
}

// Objects are listed at once for that many graphs at least, and others that will
// ask soon are waited for, up to so many: each list is of the objects of all.
const (
	together = 16
	plenty   = 250
	patience = time.Second
)

func newSurveys(c *controller) *surveys { return &surveys{c: c} }

// survey reads the objects of a run.
func (r *run) survey(a *engine.Action) {
	r.flying++
	v := &survey{run: r, action: a, shared: r.stored != nil && r.stored.Revision != ""}
	for _, t := range a.Targets {
		v.shared = v.shared && t.Labeled && r.d.c.hub.sees(kindOf(t))
	}
	s := r.d.c.surveys
	if !v.shared {
		s.c.pool.begin(v.run.d, v.alone)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, v)
	s.c.pool.begin(v.run.d, s.next)
}

func kindOf(t engine.Target) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind}
}

// next does one survey that waits, or all if there are many. If others were
// quicker, or a list for all is under way that another will follow, it does none.
func (s *surveys) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.waiting) == 0:
	case len(s.waiting) < together:
		first := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.mu.Unlock()
		first.alone()
		s.mu.Lock()
	case !s.busy:
		s.busy = true
		for len(s.waiting) >= together {
			s.gather()
			all := s.waiting
			s.waiting = nil
			s.mu.Unlock()
			s.list(all)
			s.mu.Lock()
		}
		for _, v := range s.waiting {
			s.c.pool.begin(v.run.d, v.alone)
		}
		s.waiting, s.busy = nil, false
	}
}

// gather waits while graphs are about to ask.
func (s *surveys) gather() {
	for end := time.Now().Add(patience); time.Now().Before(end) && len(s.waiting) < plenty && s.c.queue.Len() > 0; {
		s.mu.Unlock()
		time.Sleep(patience / 100)
		s.mu.Lock()
	}
}

// alone reads the objects of one graph, as its account.
func (v *survey) alone() {
	r := v.run
	o := r.do(context.Background(), v.action)
	r.d.post(func() {
		r.flying--
		r.engine.Done(*v.action, o)
	})
}

// list reads the objects of many graphs, page by page, and passes them on at
// once. Of those that weren't found nothing is known: they may have lost their
// labels, so they are read one by one.
func (s *surveys) list(all []*survey) {
	byOwner := make(map[inventory.Owner]*survey, len(all))
	kinds := map[schema.GroupVersionKind]bool{}
	for _, v := range all {
		byOwner[labelled(v.run.d.owner)] = v
		for _, t := range v.action.Targets {
			kinds[kindOf(t)] = true
		}
	}
	for gvk := range kinds {
		seen := scope{gvk: gvk}.seen()
		err := s.c.own.ListPages(context.Background(), seen, func(page []unstructured.Unstructured) { hand(page, byOwner) })
		if err != nil {
			// As its account, each may have more success, or be told why not.
			for _, v := range all {
				s.c.pool.begin(v.run.d, v.alone)
			}
			return
		}
	}
	for _, v := range all {
		o := engine.Outcome{Unreadable: make(map[inventory.Key]error, len(v.action.Targets))}
		for _, t := range v.action.Targets {
			o.Unreadable[t.Key] = nil
		}
		v.run.d.post(func() {
			v.run.flying--
			v.run.engine.Done(*v.action, o)
		})
	}
}

// hand passes on a page to those whose objects are on it.
func hand(page []unstructured.Unstructured, byOwner map[inventory.Owner]*survey) {
	parts := map[*survey][]*unstructured.Unstructured{}
	for i := range page {
		owner, owned := inventory.OwnerOf(page[i].GetLabels())
		if v := byOwner[owner]; owned && v != nil {
			parts[v] = append(parts[v], &page[i])
		}
	}
	for v, part := range parts {
		v.run.d.post(func() {
			for _, obj := range part {
				v.run.engine.Observe(obj)
			}
		})
	}
}
