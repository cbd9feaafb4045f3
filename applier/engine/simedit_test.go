package engine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// names are the names of the objects that graphs list.
var names = []string{"c0", "c1", "c2", "c3", "t0", "t1", "t2", "t3", "t4", "w0", "w1", "j0", "j1"}

// edit changes a graph at random.
func (s *sim) edit(r *run) {
	other := s.runs[0]
	if other == r {
		other = s.runs[1]
	}
	r.graph = r.graph.clone()
	for range 1 + s.pick(3) {
		s.editOnce(r, other)
	}
}

func (s *sim) editOnce(r, other *run) {
	nodes := r.graph.nodes
	any := func() *planned { return &nodes[s.pick(len(nodes))] }
	switch k := s.pick(14); {
	case k <= 3 || len(nodes) == 0:
		s.addNode(r, other)
	case k == 4 && len(nodes) > 1:
		r.graph = r.graph.without(any().name)
	case k == 5:
		any().id = s.newID()
	case k == 6 || k == 7:
		n := any()
		n.fields[string(rune('a'+s.pick(3)))] = strconv.Itoa(s.pick(5))
	case k == 8:
		delete(any().fields, string(rune('a'+s.pick(3))))
	case k == 9:
		s.reorder(r)
	case k == 10 && len(nodes) > 1: // move it to the other graph
		n := *any()
		if other.graph.index(n.name) >= 0 {
			return
		}
		r.graph = r.graph.without(n.name)
		n.needs, n.reads = nil, ""
		other.graph = other.graph.clone()
		other.graph.nodes = append(other.graph.nodes, n)
		if s.chance(0.7) {
			other.restart()
		}
	case k == 11:
		n := any()
		switch s.pick(5) {
		case 4:
			n.version = []string{"v1", "v2"}[s.pick(2)]
		case 0:
			n.orphan = !n.orphan
		case 1:
			n.create = !n.create
		case 2:
			n.timeout = "3s"
		case 3:
			n.fields["fixed"], n.recreate = strconv.Itoa(s.pick(5)), true
		}
	case k == 12:
		n := any()
		if strings.HasPrefix(n.name, "t") {
			n.fields["behave"] = []string{"fail", "never", ""}[s.pick(3)]
		}
	case k == 13 && r.before != nil: // revert to the previous graph
		for _, n := range r.before.nodes {
			if other.graph.index(n.name) >= 0 {
				return
			}
		}
		r.graph = r.before.clone()
	}
}

func (s *sim) addNode(r, other *run) {
	name := names[s.pick(len(names))]
	if r.graph.index(name) >= 0 || other.graph.index(name) >= 0 && !s.chance(0.1) {
		return
	}
	n := planned{id: s.newID(), name: name, fields: map[string]string{"a": strconv.Itoa(s.pick(5))}}
	n.orphan, n.create = s.chance(0.1), s.chance(0.1)
	if s.chance(0.2) {
		n.fields["fixed"], n.recreate = strconv.Itoa(s.pick(5)), true
	}
	if name[0] == 'j' {
		n.fields["ttlSecondsAfterFinished"] = "5"
	}
	r.graph.nodes = append(r.graph.nodes, n)
	s.need(r, len(r.graph.nodes)-1)
}

func (s *sim) newID() string {
	s.count++
	return "n" + strconv.Itoa(s.count)
}

// need adds random dependencies on earlier nodes.
func (s *sim) need(r *run, i int) {
	n := &r.graph.nodes[i]
	n.needs, n.reads = nil, ""
	for _, m := range r.graph.nodes[:i] {
		if s.chance(0.3) {
			n.needs = append(n.needs, m.name)
		}
		if strings.HasPrefix(m.name, "t") && s.chance(0.2) {
			n.reads = m.name
		}
	}
}

// reorder moves nodes between waves.
func (s *sim) reorder(r *run) {
	nodes := r.graph.nodes
	s.random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	for i := range nodes {
		s.need(r, i)
	}
}

// restart replaces the engine by one for the current graph.
func (r *run) restart() {
	if r.engine != nil {
		r.crash()
	}
	r.start()
}

// disturb causes one random disturbance.
func (s *sim) disturb() {
	r := s.runs[s.pick(2)]
	switch k := s.pick(13); {
	case k > 10:
		s.disturbKind()
	case k == 10:
		jump := s.upTo(10*time.Hour) - 5*time.Hour
		s.logf("the clock jumps by %v", jump)
		s.skew += jump
		for _, r := range s.runs {
			r.jumped = r.jumped || jump > 0
		}
	case k <= 3:
		if s.chance(0.3) {
			before := r.graph
			r.before = &before
		}
		s.edit(r)
		if s.chance(0.5) && r.engine != nil {
			r.crash()
			r.reload() // the same process executes the new graph
		} else {
			r.restart()
		}
	case k == 4:
		r.crash()
		if s.chance(0.15) {
			s.logf("%s: its inventory is lost", r.id())
			r.lose()
		}
		s.after(s.upTo(10*time.Second), r.restart)
	default:
		s.meddle(k)
	}
}

// lose loses the inventory of a graph.
func (r *run) lose() {
	r.stored, r.version, r.reordered = nil, 0, true
	r.noteListed()
}

// meddle changes an object as others would.
func (s *sim) meddle(k int) {
	name := names[s.pick(len(names))]
	key := keyOf(name)
	o := s.cluster.objects[key]
	switch {
	case o == nil && s.chance(0.15):
		o = s.cluster.create(key)
		o.edit("kubectl", "label:example.com/stranger", "true")
		o.edit("kubectl", "spec:a", "7")
		if s.chance(0.3) {
			s.logf("people: make %s with the labels of a graph", name)
			o.edit("kubectl", "label:example.com/copy", "true")
			for f, v := range s.runs[0].owner.Labels() {
				o.edit("kubectl", "label:"+f, v)
			}
		}
		s.logf("people: make %s", name)
		s.cluster.changed(o, true)
	case o == nil:
		return
	case k <= 5:
		s.logf("people: delete %s", name)
		s.cluster.remove(o)
	case k == 6:
		o.kept = !o.kept
		s.logf("people: annotate %s to be kept: %t", name, o.kept)
		s.cluster.changed(o, false)
	case k <= 7:
		f := "spec:" + string(rune('a'+s.pick(3)))
		s.logf("people: change %s of %s", f, name)
		o.edit("kubectl", f, strconv.Itoa(s.pick(5)))
		s.cluster.changed(o, true)
	case k == 8 && o.labels()[v1alpha1.LabelGraph] != "":
		s.logf("people: remove the labels of %s", name)
		for f := range o.labels() {
			if strings.HasPrefix(f, "pequod.io/") {
				o.edit("kubectl", "label:"+f, "")
			}
		}
		s.cluster.changed(o, false)
	case k == 9 && o.ready:
		s.logf("people: break %s for a while", name)
		o.ready = false
		s.cluster.changed(o, false)
		s.after(s.upTo(10*time.Second), func() {
			if s.cluster.objects[key] == o {
				s.cluster.settle(o)
			}
		})
	}
	s.meddled[key] = s.now
}

// repair fixes graphs that can't be executed, as users do after an error.
func (s *sim) repair() {
	for _, r := range s.runs {
		r.graph = r.graph.clone()
	}
	s.serveKinds()
	for _, name := range names {
		if s.runs[0].graph.index(name) >= 0 && s.runs[1].graph.index(name) >= 0 {
			r := s.runs[s.pick(2)]
			r.graph = r.graph.without(name)
		}
	}
	for k, r := range s.runs {
		for i := range r.graph.nodes {
			n := &r.graph.nodes[i]
			delete(n.fields, "behave")
			n.timeout = ""
			o := s.cluster.objects[keyOf(n.name)]
			if o == nil {
				continue
			}
			if o.fields["spec:behave"] != "" && (n.create || !o.held("spec:behave")) {
				s.logf("people: delete %s", n.name)
				s.cluster.remove(o)
				continue
			}
			if o.kept && n.recreate {
				s.logf("people: annotate %s to be kept: false", n.name)
				o.kept = false
				s.cluster.changed(o, false)
			}
			n.recreate = n.recreate || o.fields["spec:fixed"] != ""
			n.force = n.force || len(o.managers["kubectl"]) > 0
			labels := o.labels()
			other := s.runs[1-k]
			switch {
			case other.owner.Owns(labels) && other.lists(o.key), r.owner.Owns(labels) && labels["example.com/copy"] == "":
			case s.chance(0.5):
				s.logf("people: delete %s", n.name)
				s.cluster.remove(o)
			case !slices.Contains(r.graph.adopt, n.name):
				r.graph.adopt = append(r.graph.adopt, n.name)
			}
		}
		slices.Sort(r.graph.adopt)
		if len(r.graph.nodes) == 0 {
			r.graph.nodes = append(r.graph.nodes, planned{id: "last", name: fmt.Sprint("c9", k), fields: map[string]string{"a": "1"}})
		}
	}
}
