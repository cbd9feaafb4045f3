package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// The watches of the controller show more than the graph's account may see: they use
// the applier's rights, or were opened before rights of the account were revoked. So
// what expressions read is only learned from a watch if a request as the account
// returned the same object within Options.ReadTrust: its rights may be limited to
// names. Otherwise the object is read as the account.
//
// That also holds for objects that don't belong to the graph and that no expression
// reads, because the graph's status shows others whether they are ready.

// At sets the time of the observations and outcomes until the next step. Without it,
// they count as of the time of the previous step.
func (e *Engine) At(now time.Time) { e.step.now = now }

// vouch records that a request as the graph's account returned an object.
func (e *Engine) vouch(key inventory.Key) {
	if e.opts.ReadTrust > 0 {
		e.cache.vouched[key] = e.step.now
	}
}

// mayLearn reports whether the state of the object of a node may be learned from a
// watch.
func (e *Engine) mayLearn(n *node, obj *unstructured.Unstructured) bool {
	if e.opts.ReadTrust <= 0 || e.owner.Owns(obj.GetLabels()) && !n.referenced && !n.checker.HasExpressions() {
		return true
	}
	at, vouched := e.cache.vouched[n.key]
	return vouched && e.step.now.Sub(at) < e.opts.ReadTrust
}

// distrust makes the next step read the object of a node. A watch reported a version
// of it that isn't learned.
func (e *Engine) distrust(n *node, version string) {
	p := &n.progress
	if p.unverified == "" || resourceversion.Older(p.unverified, version) {
		p.unverified = version
	}
	n.schedule.stale = true
}

// verify reads the object of a node if a watch reported a newer version than the known
// one. Until the answer, the known one counts.
func (e *Engine) verify(n *node, seen *observation) {
	p := &n.progress
	switch {
	case p.unverified == "" || seen == nil || p.write.inFlight || p.read.inFlight:
	case !seen.absent && seen.err == nil && !resourceversion.Older(seen.version, p.unverified):
		p.unverified = ""
	case !e.backingOff(&p.read):
		p.read.inFlight = true
		e.request(Action{Verb: Read, Key: n.key, Version: n.version, Node: n.ID})
	}
}
