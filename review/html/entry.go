package html

import (
	"fmt"
	"html/template"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/forecast"
)

// block is a list of instances whose objects change in the same way.
type block struct {
	Instances []instance
	Objects   []entry
}

// instance is an instance of a block.
type instance struct {
	Name      string
	Namespace string
	At        fileLink
	Fields    []fileLink
}

// entry is a changed object. In a block of several instances it is that of the first one.
type entry struct {
	ID           string
	Sign, Class  string
	Kind         string
	Namespace    string
	Name         string
	Note         string // what the heading adds to the name
	Effects      []forecast.Effect
	Consequences []review.Together
	Warnings     []string
	Fields       template.HTML
	Lines        template.HTML
	Module       fileLink   // of the node
	Set          []fileLink // where the module sets the changed fields
}

// block returns the instances with the given indexes, with the objects of the first one.
// All of them lead to the same entries.
func (o Options) block(r *review.Report, indexes []int, ids map[int]map[objectdiff.Key]string, next *int) block {
	var b block
	first := &r.Instances[indexes[0]]
	entries := map[objectdiff.Key]string{}
	group := review.Group{Instances: indexes}
	together := r.Together(group)
	for i := range first.Objects {
		*next++
		e := o.entry(&first.Objects[i], fmt.Sprintf("o%d", *next))
		e.Consequences, e.Effects = together[i], r.EffectsIn(group, i)
		entries[first.Objects[i].Key] = e.ID
		b.Objects = append(b.Objects, e)
	}
	for _, i := range indexes {
		ids[i] = entries
	}
	for _, in := range r.Listed(group) {
		name := objectdiff.Key{Kind: in.Kind, Namespace: in.Namespace, Name: in.Name}.String() + in.Where
		b.Instances = append(b.Instances, instance{Name: name, Namespace: in.Namespace, At: o.at(in.Instance), Fields: o.fields(in.Fields)})
	}
	return b
}

// others returns the objects that only a cluster knows to change.
func (o Options) others(l *review.Live, next *int) group {
	var b block
	for i := range l.Others {
		*next++
		e := o.entry(&l.Others[i], fmt.Sprintf("o%d", *next))
		e.Consequences = l.Others[i].Alone()
		b.Objects = append(b.Objects, e)
	}
	out := group{Title: l.OthersTitle(), Blocks: []block{b}}
	out.Sign, out.Class = signOf(objectdiff.Modify)
	return out
}

func (opts Options) entry(o *review.Object, id string) entry {
	path := o.Module.Path
	if o.Action == objectdiff.Remove {
		path = "" // the head may not have the file
	}
	e := entry{
		ID: id, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		Lines: objectLines(&o.ObjectDiff), Module: opts.fileLink(o.Module.Position, path),
	}
	e.Sign, e.Class = signOf(o.Action)
	if o.Action == objectdiff.Modify {
		e.Fields, e.Set = fieldLines(&o.ObjectDiff), opts.set(o)
	}
	if o.Recreated {
		e.Note = "deleted and recreated"
	}
	for _, w := range o.Warnings {
		text := w.Message
		if w.Path != "" {
			text = w.Path + ": " + text
		}
		e.Warnings = append(e.Warnings, text)
	}
	return e
}
