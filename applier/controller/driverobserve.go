package controller

import (
	"context"
	"time"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
)

// Notify implements [share.Graph].
func (d *driver) Notify(o share.Observation) { d.inbox.post(func() { d.observe(o) }) }

// observe handles an observation of the graph's objects, or of its account.
func (d *driver) observe(o share.Observation) {
	switch {
	case o.Type == share.AccessChanged:
		// Subscribing again may find another way to see the objects.
		if d.objects.engine != nil {
			d.run.subscribe()
		} else if d.objects.snapshot != nil {
			d.objects.changed = true
		}
	case o.Type == share.KindServed:
		// What failed for lack of the kind may work now.
		if d.objects.engine != nil {
			d.restart()
		}
	case o.Type == share.HistoryRewritten, d.objects.contradicts(o):
		d.doubtCluster()
		d.forgetHistory()
	case o.Type == share.KindBroken:
		// A new run reads the objects, or reports why it can't.
		if d.objects.judged() {
			d.doubtCluster()
			d.restart()
		}
	case o.Type == share.ListFailed && !d.objects.failedAgain():
	case o.Type == share.ListRefused, o.Type == share.ListFailed:
		// Reads report why, or a new run does.
		if d.objects.engine != nil {
			d.objects.doubt(o.Selection)
		} else if d.objects.snapshot != nil {
			d.restart()
		}
	case o.Type == share.RightsChanged:
		if d.retries.lacksRights() {
			d.tryAgain()
		}
	case o.Type == share.Claimed:
		if d.objects.engine != nil {
			d.objects.engine.ForgetClaims()
		} else if d.objects.snapshot != nil {
			d.objects.changed = true
		}
	case d.awaits.happenedIn(o):
		d.tryAgain()
	default:
		d.objects.observe(o, d.run != nil)
	}
}

// doubtCluster makes the next run find out which cluster has the objects, if that isn't the
// cluster of the graph.
func (d *driver) doubtCluster() {
	if d.destination != nil {
		d.destination.doubt()
	}
}

// pollInterval is how often objects that can't be watched are read at the begin of a
// run. It grows to Options.Resync if the graph doesn't become ready.
// Without a run, Options.Resync applies.
const pollInterval = 5 * time.Second

// poll reads objects that can't be watched when their time has come. It returns
// when to call it again, zero for not at all.
func (d *driver) poll(now time.Time) time.Time {
	due, next := d.objects.due(now, d.pollEvery(now))
	account, objects := d.serviceAccount(), d.clusterShare()
	for _, s := range due {
		objects.Continue(d, func(ctx context.Context) { d.list(ctx, objects, account, s) })
	}
	return earliest(next, d.pollSecret(now))
}

// pollEvery returns the time between two polls. The longer a run lasts, the less
// likely is a change, and a thousand broken graphs must not load the API server for
// ever.
func (d *driver) pollEvery(now time.Time) time.Duration {
	if d.run == nil {
		return d.Resync
	}
	return max(pollInterval, min(now.Sub(d.run.began)/4, d.Resync))
}

// list lists the objects of a selection as the graph's account. Errors of the network are
// dropped: the next poll tries again.
func (d *driver) list(ctx context.Context, objects *share.Share, a share.Account, s share.Selection) {
	client, err := objects.Client(ctx, a, false)
	if err != nil || client == nil {
		return
	}
	all, err := client.List(ctx, s.Request(d.Owner().Selector()))
	if err == nil {
		d.Notify(share.Observation{Type: share.Listed, Selection: s, Version: all.ResourceVersion, Objects: all.Objects})
		return
	}
	switch {
	case cluster.Classify(err).Reason == engine.ReasonForbidden:
		d.Notify(share.Observation{Type: share.ListRefused, Selection: s})
	case cluster.ConcernsKind(err):
		d.Notify(share.Observation{Type: share.ListFailed, Selection: s})
	}
}
