package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/forecast"
)

// maxTitleValue is the largest length of a value in a title, in bytes. A longer one is
// left out, and so is one of several lines: the change itself shows it.
const maxTitleValue = 60

// title names a group in a few words:
//
//	image web 1.4.0 → 1.5.0 in 12 instances of WebService
//	replicas 2 → 3 and 1 more field in WebService shop/web
//	WebService shop/search is added
//	replicas 2 → 3 in WebService shop/web in 40 of 42 clusters (not eu-1, eu-2)
func (r *Report) title(g Group) string {
	in, listed := r.Shown(g), r.Listed(g)
	subject, is := in.name(), " is "
	if n := len(listed); n > 1 {
		subject, is = source.Count(n, "instance")+" of "+in.Kind, " are "
	}
	where := r.where(listed)
	switch in.Action {
	case objectdiff.Add:
		return subject + is + "added" + where
	case objectdiff.Remove:
		return subject + is + "removed" + where
	}
	return in.summary(g.ValuesDiffer) + " in " + subject + where
}

// where tells the clusters of the instances of a group, after a space. It is "" without clusters.
func (r *Report) where(listed []Listed) string {
	most := 0
	for _, l := range listed {
		most = max(most, len(l.Clusters))
	}
	if slices.ContainsFunc(listed, func(l Listed) bool { return l.Where != listed[0].Where }) {
		return fmt.Sprintf(" in up to %d of %d clusters", most, len(r.Clusters))
	}
	return listed[0].Where
}

// name returns the instance without its file, such as "WebService shop/web".
func (in *Instance) name() string {
	return objectdiff.Key{Kind: in.Kind, Namespace: in.Namespace, Name: in.Name}.String()
}

// summary describes the change of an instance. It shows one field, the most dangerous or else
// the most telling one, and counts the others. With hidden, the values are left out.
func (in *Instance) summary(hidden bool) string {
	var best *objectdiff.Change
	least := 0 // the rank of best
	fields, added, removed := 0, []string{}, []string{}
	for i := range in.Objects {
		o := &in.Objects[i]
		switch o.Action {
		case objectdiff.Add:
			added = append(added, o.Kind)
		case objectdiff.Remove:
			removed = append(removed, o.Kind)
		}
		for k := range o.Changes {
			c := &o.Changes[k]
			r := rank(*c)
			if o.endangers(c.Path.String()) {
				r = -1
			}
			if fields++; best == nil || r < least {
				best, least = c, r
			}
		}
	}
	var parts []string
	if best != nil {
		text := field(*best, hidden)
		if fields > 1 {
			text += " and " + source.Count(fields-1, "more field")
		}
		parts = append(parts, text)
	}
	if text := kinds(added, "added"); text != "" {
		parts = append(parts, text)
	}
	if text := kinds(removed, "removed"); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// endangers reports whether the change of a field of o is refused, loses something, or
// recreates Pods.
func (o *Object) endangers(path string) bool {
	return slices.ContainsFunc(o.Consequences, func(c forecast.Consequence) bool {
		return c.Path != "" && c.Effect.Severity() >= forecast.Recreate.Severity() && strings.HasPrefix(path, c.Path)
	})
}

// rank orders fields by what they tell a reader; the smallest is shown.
func rank(c objectdiff.Change) int {
	keys := c.Path.Keys()
	switch last := keys[len(keys)-1]; {
	case last == "image":
		return 0
	case last == "replicas" || last == "type" || last == "storage":
		return 1
	case keys[0] == "spec" || keys[0] == "data":
		return 2
	case keys[0] == "metadata":
		return 3
	}
	return 4 // settings of nodes
}

// field returns the change of one field, such as "image web 1.4.0 → 1.5.0".
func field(c objectdiff.Change, hidden bool) string {
	name := source.Escape(c.Name(), "")
	switch c.Action {
	case objectdiff.Add:
		name += " added"
	case objectdiff.Remove:
		name += " removed"
	case objectdiff.Reorder:
		return name + " in another order"
	}
	if hidden {
		return name + " to different values"
	}
	if c.Action != objectdiff.Modify {
		return name
	}
	before, after := c.Inline()
	if len(before) > maxTitleValue || len(after) > maxTitleValue || strings.Contains(before+after, `\n`) {
		return name + " changed"
	}
	if image, old, tag, ok := tags(before, after); ok {
		name, before, after = name+" "+source.Escape(image, ""), old, tag
	}
	return name + source.Escape(fmt.Sprintf(" %s → %s", before, after), "")
}

// tags returns the tags of two references to one image, and the last element of its path. ok is
// false for other values.
func tags(before, after string) (image, old, tag string, ok bool) {
	i, j := strings.LastIndexByte(before, ':'), strings.LastIndexByte(after, ':')
	if i <= 0 || i != j || before[:i] != after[:j] || strings.Contains(before[i:], "/") || strings.ContainsAny(before[:i], " \"'{") {
		return "", "", "", false
	}
	image, _, _ = strings.Cut(path.Base(before[:i]), "@") // a digest
	return image, before[i+1:], after[j+1:], true
}

// kinds names one object by its kind, and counts several: "Service added", "2 objects added".
func kinds(all []string, what string) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0] + " " + what
	}
	return source.Count(len(all), "object") + " " + what
}
