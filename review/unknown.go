package review

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// separate returns the pairs that both sides could render, and the others. It fills in
// r.Unknown and counts the unknown instances.
func (r *Report) separate(pairs []*pair, base, head *Tree) (known, unknown []*pair) {
	var reasons reasons
	for _, f := range base.Failures {
		reasons.add(Base, f.Subject, "", f.Problems)
	}
	for _, f := range head.Failures {
		reasons.add(Head, f.Subject, "", f.Problems)
	}
	for _, p := range pairs {
		found := p.unknownIn(Base, p.base, p.head, base, &reasons)
		found = p.unknownIn(Head, p.head, p.base, head, &reasons) || found
		if found {
			r.Counts.Unknown++
			unknown = append(unknown, p)
		} else {
			known = append(known, p)
		}
	}
	r.Unknown = reasons.list()
	return known, unknown
}

// unknownIn reports whether a side has no answer for the pair, and records the reason. u is
// the unit on that side and other the one on the other side.
func (p *pair) unknownIn(side Sides, u, other *Unit, t *Tree, all *reasons) bool {
	if u.unknown() {
		all.add(side, u.Cause, p.key.String(), u.Problems)
		return true
	}
	if u != nil {
		return false
	}
	for _, f := range t.Failures {
		if f.concerns(other) {
			all.add(side, f.Subject, p.key.String(), f.Problems)
			return true
		}
	}
	return false
}

// reasons collects the unknown parts. Instances with equal problems are one entry.
type reasons struct {
	entries []*Unknown
	index   map[string]*Unknown
}

// add records that an instance is unknown, or with an empty name a part without instances.
func (r *reasons) add(side Sides, subject, instance string, ps problem.List) {
	var key strings.Builder
	key.WriteString(string(side) + "\x00" + subject)
	for _, p := range ps {
		if p.Severity == problem.Error {
			key.WriteString("\x00" + p.Rule + "\x00" + p.Path + "\x00" + p.Message)
		}
	}
	e := r.index[key.String()]
	if e == nil {
		e = &Unknown{Subject: cmp.Or(subject, instance), Sides: side, Problems: ps}
		if r.index == nil {
			r.index = map[string]*Unknown{}
		}
		r.index[key.String()] = e
		r.entries = append(r.entries, e)
	}
	if instance != "" {
		e.Instances = append(e.Instances, instance)
	}
}

// list returns the entries. What is unknown for the same reason on both sides is one entry.
func (r *reasons) list() []Unknown {
	var all []Unknown
	for _, e := range r.entries {
		same := func(u Unknown) bool {
			return u.Sides == Base && e.Sides == Head && u.Subject == e.Subject &&
				slices.Equal(u.Instances, e.Instances) && slices.Equal(messages(u.Problems), messages(e.Problems))
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Sides, all[i].Problems = Both, e.Problems // the positions of the head can be opened
			continue
		}
		all = append(all, *e)
	}
	return all
}

// messages returns the problems without their positions, which differ between the sides.
func messages(ps problem.List) []string {
	var all []string
	for _, p := range ps {
		all = append(all, p.Rule+"\x00"+p.Path+"\x00"+p.Message)
	}
	return all
}
