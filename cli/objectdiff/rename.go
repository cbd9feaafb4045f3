package objectdiff

// Two objects of one kind are taken for one that was renamed if so much of what
// they say is the same.
const alike = 0.8

// maxPairs bounds how many pairs of one kind are looked at; past it there is no
// guessing.
const maxPairs = 10_000

// renamed warns of objects that seem to go on under another name: the cluster
// doesn't know that, and makes a new one.
func renamed(d *Diff) {
	type gk struct{ group, kind string }
	gone, made := map[gk][]*ObjectDiff{}, map[gk][]*ObjectDiff{}
	var kinds []gk
	for i := range d.Objects {
		o := &d.Objects[i]
		k := gk{o.Group, o.Kind}
		switch o.Action {
		case Remove:
			if gone[k] == nil {
				kinds = append(kinds, k)
			}
			gone[k] = append(gone[k], o)
		case Add:
			made[k] = append(made[k], o)
		}
	}
	for _, k := range kinds {
		if k.kind == "ResourceGraph" || len(gone[k])*len(made[k]) > maxPairs {
			continue
		}
		var news [][]fact
		for _, n := range made[k] {
			news = append(news, n.new.facts())
		}
		taken := map[*ObjectDiff]bool{}
		for _, o := range gone[k] {
			old := o.old.facts()
			best, score := -1, alike
			for i, n := range made[k] {
				if s := similarity(old, news[i]); !taken[n] && s >= score && (best < 0 || s > score) {
					best, score = i, s
				}
			}
			if best < 0 {
				continue
			}
			n := made[k][best]
			taken[n] = true
			n.warn(RuleRenamed, "", "renamed? it is much like %s, which is removed%s", o.Key, startsEmpty(n))
		}
	}
}

func startsEmpty(n *ObjectDiff) string {
	switch {
	case n.is("", "PersistentVolumeClaim"):
		return ": the new one starts empty"
	case n.is("apps", "StatefulSet") && get(n.new.body, "spec", "volumeClaimTemplates") != nil:
		return ": the new one starts empty, with volumes of its own"
	case n.is("apps", "StatefulSet"):
		return ": the new one starts empty"
	}
	return ""
}

// fact is one value that an object has, and where: as it stands, and with the
// object's own name taken out of it.
type fact struct{ said, nameless string }

func (o *Object) facts() []fact {
	body := map[string]any{}
	for k, v := range o.body {
		switch k {
		case "apiVersion", "kind":
		case "metadata":
			body["labels"], body["annotations"] = get(v, "labels"), get(v, "annotations")
		default:
			body[k] = v
		}
	}
	return factsOf(o.Name, body)
}

func factsOf(name string, v any) []fact {
	var all []fact
	var walk func(p string, v any)
	walk = func(p string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				walk(p+"."+k, item)
			}
		case []any:
			for _, item := range v {
				walk(p+"[]", item)
			}
		case nil:
		default:
			said := p + "=" + canonical(v)
			all = append(all, fact{said, replaceWord(said, name, "\x00")})
		}
	}
	walk("", v)
	return all
}

// similarity is the part of the values of both that the other has too, but for
// its name; 0 for objects without values.
func similarity(a, b []fact) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	return float64(shared(a, b)+shared(b, a)) / float64(len(a)+len(b))
}

// shared counts the facts that another object has too.
func shared(of, with []fact) int {
	said, nameless := map[string]bool{}, map[string]bool{}
	for _, f := range with {
		said[f.said], nameless[f.nameless] = true, true
	}
	n := 0
	for _, f := range of {
		if said[f.said] || nameless[f.nameless] {
			n++
		}
	}
	return n
}
