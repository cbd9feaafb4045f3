package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// slowestPoll is the longest time that a watch is silent before its objects are polled,
// unless Options.PollInterval is longer.
const slowestPoll = 30 * time.Second

// watched identifies a watch by its objects: those of a kind and namespace with the graph's
// labels, or, if name is set, one object without them.
type watched struct {
	location
	version, name string // version is the API version
}

// polls is the state of the polls of one watched. A watch reports changes in their order, so
// an event proves that none before it was missed, whatever object it is about.
type polls struct {
	confirmed time.Time // of the last event of the watch
	// fresh is the time of the first observation of an awaited object since the last
	// poll and the last event, zero if there is none.
	fresh time.Time
	// polled is the time of the last poll, and of its answer when it is known.
	polled time.Time
	// changed is set if the last poll found a change that no event had reported.
	changed bool
	wait    time.Duration // how long the watch may be silent until the next poll
}

// next returns the time of the next poll.
func (p *polls) next() time.Time {
	last := p.fresh
	if last.IsZero() {
		last = p.confirmed
	}
	if p.polled.After(last) {
		last = p.polled
	}
	return last.Add(p.wait)
}

// begin notes a poll. The next ones are rarer, unless the watch misses changes: the poll
// before this one found some, and no event followed. On a slow server, events are only late.
func (p *polls) begin(now time.Time, interval time.Duration) {
	if !p.polled.IsZero() {
		p.wait = max(interval, min(2*p.wait, slowestPoll))
	}
	if p.changed && p.polled.After(p.confirmed) {
		p.wait = interval
	}
	p.polled, p.fresh, p.changed = now, time.Time{}, false
}

// poll describes an object that the engine waits for, and the state of its Reads.
type poll struct {
	key     inventory.Key
	version string
	node    string // id, "" for an object that left the graph
	labeled bool   // the object has the graph's labels
	phase   v1alpha1.NodePhase
	read    *retryState
}

// pollWhileWaiting reads an object while the engine waits for it and its watch is silent: a
// watch may have missed an event, or not be permitted. The awaited objects of one watch are
// read in the same step, so that the driver can answer with one list.
func (e *Engine) pollWhileWaiting(p poll, seen *observation) {
	switch p.phase {
	case v1alpha1.NodeProgressing, v1alpha1.NodeDegraded, v1alpha1.NodeWaiting, v1alpha1.NodeDeleting:
	default:
		return
	}
	if e.opts.PollInterval <= 0 || p.read.inFlight {
		return
	}
	at := e.pollsOf(p.key, p.version, p.labeled)
	if at.fresh.IsZero() && seen.at.After(at.confirmed) && seen.at.After(at.polled) {
		at.fresh = seen.at
	}
	if !e.step.polling[at] {
		if next := at.next(); e.step.now.Before(next) {
			e.wakeAt(next)
			return
		}
		if e.step.polling == nil {
			e.step.polling = map[*polls]bool{}
		}
		e.step.polling[at] = true
		at.begin(e.step.now, e.opts.PollInterval)
	}
	p.read.inFlight = true
	e.request(Action{Verb: Read, Key: p.key, Version: p.version, Node: p.node, Polled: p.labeled})
}

func (e *Engine) pollNode(n *node, seen *observation) {
	e.pollWhileWaiting(poll{
		key: n.key, version: n.version, node: n.ID, labeled: n.labeled(seen), phase: n.status.Phase, read: &n.progress.read,
	}, seen)
}

func (e *Engine) pollRemoval(r *removal, seen *observation) {
	e.pollWhileWaiting(poll{
		key: r.entry.Key, version: r.entry.Version, labeled: true, phase: r.status.Phase, read: &r.read,
	}, seen)
}

// pollsOf returns the state of the polls of an object.
func (e *Engine) pollsOf(key inventory.Key, version string, labeled bool) *polls {
	w := watched{location: locationOf(key), version: version}
	if !labeled {
		w.name = key.Name
	}
	if e.cache.polls == nil {
		e.cache.polls = map[watched]*polls{}
	}
	at := e.cache.polls[w]
	if at == nil {
		at = &polls{wait: e.opts.PollInterval}
		e.cache.polls[w] = at
	}
	return at
}

// confirmWatch records that the watch of the objects with the graph's labels reported one.
func (e *Engine) confirmWatch(key inventory.Key, obj *unstructured.Unstructured) {
	if e.opts.PollInterval <= 0 || !e.owner.Owns(obj.GetLabels()) {
		return
	}
	at := e.pollsOf(key, obj.GroupVersionKind().Version, true)
	at.confirmed, at.fresh = e.step.now, time.Time{}
}

// notePoll records the answer to a Read that polled, after it was received.
func (e *Engine) notePoll(a Action) {
	if !a.Polled {
		return
	}
	at := e.pollsOf(a.Key, a.Version, true)
	at.polled = e.step.now
	now := e.cache.objects[a.Key]
	if a.before == nil || now == nil || a.before.absent != now.absent || a.before.version != now.version {
		at.changed = true
	}
}
