package instance

import (
	"context"
	"maps"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/operator/rollout"
	"github.com/pequod-io/pequod/operator/rollout/board"
)

// member is an instance as rollouts see it.
type member struct {
	// digest is that of the module of the graph, or "" without a graph.
	digest        string
	ready, failed bool
	message       string
	// pin and paused are read from the instance when it is shown; here, they only show that
	// they have changed.
	pin    string
	paused bool
	// behind is set if a rollout may have to change the instance.
	behind bool
	outlook
}

// key returns the namespace and name of the instance.
func (t *task) key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.instance.GetNamespace(), Name: t.instance.GetName()}
}

// show notes the instance as it is, and wakes the executor of rollouts if it has changed.
func (t *task) show(s situation) {
	m := member{
		pin: t.instance.GetAnnotations()[v1alpha1.AnnotationPinnedVersion], paused: isPaused(t.instance), outlook: t.memory.forecast.outlook,
	}
	if g := s.graph; g != nil {
		m.digest = g.platform.Digest
		if c := g.state.condition; g.current() && c != nil {
			m.ready = c.Status == metav1.ConditionTrue
			// A rollout is halted for good, and a degraded instance may become ready by itself.
			degraded := c.Reason == string(v1alpha1.NodeDegraded)
			m.failed = !m.ready && (g.state.stalled || g.state.failed > 0 && !degraded)
			m.message = c.Message
			if g.state.failure != nil {
				m.message = "node " + g.state.failure.Node + ": " + g.state.failure.Message
			}
		}
	}
	if a := t.assignment.Load(); a != nil && s.refusal != nil && a.Update[t.key()] && t.chosen.Module.Digest == a.To && m.digest != a.To {
		m.attempted(a, s.refusal, t.memory.rendering.failures)
	}
	to := rollout.Version(t.latest.Module)
	held := (&rollout.Instance{Annotations: t.instance.GetAnnotations()}).Held(to)
	refused := m.refused != "" && m.from == m.digest && m.to == to.Digest
	m.behind = m.digest != "" && m.digest != to.Digest && !held && !refused && !m.paused && !s.deleting
	t.mu.Lock()
	old := t.memory.member
	counts := t.memories[t.key()] == t.memory
	if counts {
		t.tally.add(t.memory, -1)
	}
	t.memory.member = &m
	if counts {
		t.tally.add(t.memory, 1)
	}
	t.mu.Unlock()
	if old == nil || *old != m {
		t.Board.Changed(t.group)
	}
}

// attempted notes why the instance could not get the version that it was assigned. If the API
// server doesn't take the graph, the version counts as one that failed. If the version
// refuses the instance, the rollout goes on without it.
func (m *member) attempted(a *board.Assignment, why *refusal, failures int) {
	m.outlook = outlook{from: m.digest, to: a.To, known: true}
	switch {
	case why.reason == reasonGraphRefused || why.reason == reasonGraphNotWritten:
		m.digest, m.ready, m.failed, m.message = a.To, false, true, why.message
	case why.retried && failures < maxForecasts:
		m.changed, m.key = true, newlyValid // it stays assigned
	default:
		m.refused = why.message
	}
}

// isPaused reports whether an instance is paused by its label.
func isPaused(instance *unstructured.Unstructured) bool {
	return instance.GetLabels()[v1alpha1.LabelPaused] == "true"
}

// Instances implements [board.Kind]. Paused instances take no part until they are resumed.
func (k *kind) Instances() ([]rollout.Instance, bool) {
	if !k.listed.Load() {
		return nil, false
	}
	e := k.entry.Load()
	to := rollout.Version(e.Module)
	var all []rollout.Instance
	var changing []int // indexes in all
	var keys []objectdiff.GroupKey
	for _, obj := range k.informer.GetStore().List() {
		in := obj.(*unstructured.Unstructured)
		if in.GetDeletionTimestamp() != nil || isPaused(in) {
			continue
		}
		name := types.NamespacedName{Namespace: in.GetNamespace(), Name: in.GetName()}
		m := k.member(name, in.GetUID())
		if m == nil {
			return nil, false
		}
		r := rollout.Instance{
			NamespacedName: name, Labels: in.GetLabels(), Annotations: in.GetAnnotations(),
			Digest: m.digest, Ready: m.ready, Failed: m.failed, Message: m.message,
		}
		if e.Rollout != nil && m.digest != "" && m.digest != to.Digest && !r.Held(to) {
			if !m.known || m.to != to.Digest || m.from != m.digest {
				return nil, false
			}
			if r.Refused = m.refused; r.Refused == "" && m.changed {
				changing, keys = append(changing, len(all)), append(keys, m.key)
			}
		}
		all = append(all, r)
	}
	for i, group := range objectdiff.GroupsOf(keys) {
		all[changing[i]].Change = strconv.Itoa(group)
	}
	return all, true
}

// InUse implements [board.Kind].
func (k *kind) InUse() (map[string]int, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.tally.used), k.listed.Load() && k.tally.unshown == 0
}

// Behind implements [board.Kind].
func (k *kind) Behind() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tally.behind > 0
}

// member returns an instance as it was shown last, or nil.
func (k *kind) member(key types.NamespacedName, uid types.UID) *member {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m := k.memories[key]; m != nil && m.instance.GetUID() == uid {
		return m.member
	}
	return nil
}

// Assign implements [board.Kind].
func (k *kind) Assign(a board.Assignment) {
	old := k.assignment.Swap(&a)
	if old == nil || old.To != a.To {
		old = &board.Assignment{}
	}
	for key := range a.Update {
		if !old.Update[key] {
			k.enqueue(key, false)
		}
	}
	for key := range a.Restore {
		if !old.Restore[key] {
			k.enqueue(key, false)
		}
	}
}

// countPause is the least time between two counts of the instances of a kind. Each may cost a
// write of the Transform.
const countPause = 5 * time.Second

// counter counts the instances of a kind. It has a value if an instance has changed since the
// last count.
type counter chan struct{}

// recount has the instances counted soon.
func (c counter) recount() {
	select {
	case c <- struct{}{}:
	default: // they will be
	}
}

// run publishes the numbers of the instances when one of them has changed, until ctx is done.
func (c counter) run(ctx context.Context, publish func()) {
	c.recount() // there may be none
	for {
		select {
		case <-ctx.Done():
			return
		case <-c:
		}
		publish()
		select {
		case <-ctx.Done():
			return
		case <-time.After(countPause):
		}
	}
}

// tally counts the instances of a kind incrementally, so that a change of one instance doesn't require
// a walk over all.
type tally struct {
	// phases counts the instances by the phase of their status; without one they are Pending.
	phases map[string]int
	pinned int
	// unshown counts those without a member, and behind those whose member is behind.
	unshown, behind int
	// used counts the instances by the digest of the module that their graph has, and by the version
	// that they are pinned to. It has no zeros.
	used map[string]int
}

func newTally() tally {
	return tally{phases: map[string]int{phasePending: 0, phaseRendering: 0, phaseReady: 0, phaseFailed: 0}, used: map[string]int{}}
}

// add adds an instance, or takes it away if n is -1, as it is before it changes.
func (t *tally) add(m *memory, n int) {
	phase, _, _ := unstructured.NestedString(m.instance.Object, "status", "phase")
	if _, known := t.phases[phase]; !known {
		phase = phasePending
	}
	t.phases[phase] += n
	pin := m.instance.GetAnnotations()[v1alpha1.AnnotationPinnedVersion]
	if pin != "" {
		t.pinned += n
	}
	uses := []string{pin}
	if m.member == nil {
		t.unshown += n
	} else if uses = append(uses, m.member.digest); m.member.behind {
		t.behind += n
	}
	for _, version := range uses {
		if t.used[version] += n; t.used[version] == 0 {
			delete(t.used, version)
		}
	}
}
