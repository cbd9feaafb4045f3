package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/controller/share"
)

// observe has whoever looks after the objects judge an observation.
func (d *driver) observe(o share.Observation) {
	switch {
	case o.Type == share.AccessChanged:
		d.refollow()
	case o.Type == share.KindServed:
		d.tryAgain()
	case d.run != nil && d.run.engine != nil:
		switch o.Type {
		case share.ObjectChanged:
			d.run.engine.Observe(o.Object)
		case share.ObjectDeleted:
			d.run.engine.ObserveGone(o.Object)
		case share.Listed:
			for _, namespace := range d.placesOf(o.Selection) {
				d.run.engine.ObserveAll(o.Selection.GVK.GroupKind(), namespace, o.Selection.Name, o.Version, in(o.Objects, namespace))
			}
		}
	case d.rest != nil:
		if d.matters(o) {
			d.woken = true
			d.early = append(d.early, o)
		}
	case d.awaiting && (o.Type == share.ObjectChanged || len(o.Objects) > 0):
		d.awaiting, d.again = false, time.Time{}
		d.restart()
	case d.run != nil:
		d.early = append(d.early, o)
	}
}

// matters reports whether an observation changes anything for a graph that rests.
func (d *driver) matters(o share.Observation) bool {
	switch o.Type {
	case share.ObjectChanged:
		return d.rest.Observe(o.Object)
	case share.ObjectDeleted:
		return d.rest.ObserveGone(o.Object)
	}
	matters := false
	for _, namespace := range d.placesOf(o.Selection) {
		gk := o.Selection.GVK.GroupKind()
		matters = d.rest.ObserveAll(gk, namespace, o.Selection.Name, o.Version, in(o.Objects, namespace)) || matters
	}
	return matters
}

// placesOf returns the namespaces in which the graph has objects of a selection.
func (d *driver) placesOf(s share.Selection) []string {
	var here []string
	for _, p := range d.places {
		if p.GVK == s.GVK && (p.Namespace == s.Namespace || s.Name == "" && s.Namespace == "") {
			here = append(here, p.Namespace)
		}
	}
	return here
}

// in returns the objects of a listing in one namespace, or in none.
func in(objects []unstructured.Unstructured, namespace string) []unstructured.Unstructured {
	var in []unstructured.Unstructured
	for _, obj := range objects {
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
	account := d.serviceAccount()
	for _, s := range d.polled {
		d.c.share.Continue(d, func(ctx context.Context) { d.look(ctx, account, s) })
	}
	return d.pollAt
}

// look lists the objects of a selection as the graph's account.
func (d *driver) look(ctx context.Context, a share.Account, s share.Selection) {
	client, err := d.c.share.Client(ctx, a, false)
	if err != nil || client == nil {
		return // the next poll will tell, or the next try
	}
	if all, err := client.List(ctx, s.Request(d.owner.Selector())); err == nil {
		d.Notify(share.Observation{Type: share.Listed, Selection: s, Version: all.ResourceVersion, Objects: all.Objects})
	}
}
