package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/cluster"
)

// observe takes in that an object was seen, or seen to go.
func (d *driver) observe(obj *unstructured.Unstructured, gone bool) {
	d.sight(sighting{object: obj, gone: gone})
}

// observeAll takes in what a scope holds.
func (d *driver) observeAll(s scope, version string, objects []unstructured.Unstructured) {
	d.sight(sighting{scope: s, version: version, objects: objects})
}

// sight has whoever looks after the objects judge a sighting.
func (d *driver) sight(s sighting) {
	switch {
	case d.run != nil && d.run.engine != nil:
		if s.object == nil {
			for _, namespace := range d.placesOf(s.scope) {
				d.run.engine.ObserveAll(s.scope.gvk.GroupKind(), namespace, s.scope.name, s.version, s.in(namespace))
			}
			return
		}
		if s.gone {
			d.run.engine.ObserveGone(s.object)
		} else {
			d.run.engine.Observe(s.object)
		}
	case d.rest != nil:
		if d.matters(s) {
			d.woken = true
			d.early = append(d.early, s)
		}
	case d.awaiting && !s.gone && (s.object != nil || len(s.objects) > 0):
		d.awaiting, d.again = false, time.Time{}
		d.restart()
	case d.run != nil:
		d.early = append(d.early, s)
	}
}

// matters says whether a sighting changes anything for a graph that rests.
func (d *driver) matters(s sighting) bool {
	switch {
	case s.object != nil && s.gone:
		return d.rest.ObserveGone(s.object)
	case s.object != nil:
		return d.rest.Observe(s.object)
	}
	matters := false
	for _, namespace := range d.placesOf(s.scope) {
		gk := s.scope.gvk.GroupKind()
		matters = d.rest.ObserveAll(gk, namespace, s.scope.name, s.version, s.in(namespace)) || matters
	}
	return matters
}

// placesOf are the namespaces in which the graph has objects that a scope sees.
func (d *driver) placesOf(s scope) []string {
	var here []string
	for _, p := range d.places {
		if p.gvk == s.gvk && (p.namespace == s.namespace || s.name == "" && s.namespace == "") {
			here = append(here, p.namespace)
		}
	}
	return here
}

// in are the objects of a listing in one namespace, or in none.
func (s sighting) in(namespace string) []unstructured.Unstructured {
	var in []unstructured.Unstructured
	for _, obj := range s.objects {
		if ns := obj.GetNamespace(); ns == namespace || ns == "" {
			in = append(in, obj)
		}
	}
	return in
}

// refollow looks for another way to see objects, since a watch was refused, or
// is allowed by now.
func (d *driver) refollow() {
	switch {
	case d.run != nil && d.run.engine != nil:
		d.run.watch()
	case d.rest != nil:
		d.woken = true
	}
}

// tryAgain begins anew what failed for want of a kind.
func (d *driver) tryAgain() {
	if d.run != nil && d.run.engine != nil {
		d.restart()
	}
}

// pollEvery is how often objects are read that can't be watched, while they are
// waited for.
const pollEvery = 5 * time.Second

// poll reads what can't be watched, when it is time to. It returns when it will
// be again.
func (d *driver) poll(now time.Time) time.Time {
	if len(d.polled) == 0 {
		d.pollAt = time.Time{}
		return time.Time{}
	}
	every := pollEvery
	if d.run == nil {
		every = d.c.Resync
	}
	if d.pollAt.IsZero() || d.pollAt.Sub(now) > every {
		d.pollAt = now.Add(every)
	}
	if now.Before(d.pollAt) {
		return d.pollAt
	}
	d.pollAt = now.Add(every)
	account := account{d.key.Namespace, d.account}
	for _, s := range d.polled {
		d.c.pool.do(d, func() { d.look(account, s) })
	}
	return d.pollAt
}

// look lists the objects of a scope as the graph's account.
func (d *driver) look(a account, s scope) {
	ctx := context.Background()
	client, err := d.c.identities.as(ctx, a, false)
	if err != nil || client == nil {
		return // the next poll will tell, or the next try
	}
	seen := cluster.Selection{GVK: s.gvk, Namespace: s.namespace, Name: s.name}
	if s.name == "" {
		seen.Labels = d.owner.Selector()
	}
	if all, err := client.List(ctx, seen); err == nil {
		d.post(func() { d.observeAll(s, all.ResourceVersion, all.Objects) })
	}
}
