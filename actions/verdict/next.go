package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/rules"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// maxState is the size of a state as JSON in bytes.
const maxState = 16 << 10

// maxCost is the cost of all evaluations for one reading, in CEL's units: about a fifth of a second,
// in which a worker does nothing else. Common rules cost less than a hundredth of it.
const maxCost = 2_000_000

// maxMessage is the size of messages in the status in bytes.
const maxMessage = 1000

// maxFirings is how many firings may wait for their reactions. Rules that fire beyond it are
// dropped, and reported as failed.
const maxFirings = 100

// Poll is the result of reading one target.
type Poll struct {
	// Name and UID identify the target.
	Name, UID string
	// Data has the variable of the probe: data, response or object.
	Data map[string]any
	// Err is why the target could not be read.
	Err error
}

// Reading is the result of reading all targets at one time.
type Reading struct {
	Polls []Poll
	// Total is the number of targets with those that are not read.
	Total int
}

// States are the last states by target, as far as a process knows them.
type States map[string]any

// Event is what a step has found out.
type Event struct {
	Kind   EventKind
	Target v1alpha1.MonitorTargetStatus
	// Rule is the name of the rule that has fired or tripped.
	Rule string
	// Err is why a rule couldn't be evaluated.
	Err error
	// Vars are the variables of the expressions of a rule that has fired.
	Vars map[string]any
}

// EventKind is the kind of an [Event].
type EventKind int

// The kinds of events.
const (
	// Changed states differ from those of the poll before.
	Changed EventKind = iota
	// Lost targets could be read before.
	Lost
	// Found targets could not be read before.
	Found
	// Fired rules have reactions to do.
	Fired
	// Tripped rules may not fire because of their limit.
	Tripped
	// Failed rules could not be evaluated.
	Failed
)

// Next takes a reading into the status, and returns the events in their order. It replaces the
// states with those of the reading.
func (p *Plan) Next(s *v1alpha1.MonitorStatus, states States, r Reading, now time.Time) []Event {
	before := map[string]v1alpha1.MonitorTargetStatus{}
	for _, t := range s.Targets {
		before[t.Name+"/"+t.UID] = t
	}
	p.syncRules(s)
	s.TargetCount = int32(max(r.Total, len(r.Polls)))
	s.Targets = nil
	known, allowance := map[string]any{}, &expression.Allowance{Cost: maxCost}
	var events []Event
	for _, poll := range r.Polls[:min(len(r.Polls), v1alpha1.MaxMonitorTargets)] {
		key := poll.Name + "/" + poll.UID
		t := before[key]
		t.Name, t.UID, t.LastPollAt = poll.Name, poll.UID, timeOf(now)
		found, state := p.poll(s, &t, poll, states[key], allowance, now)
		events = append(events, found...)
		if state != nil {
			known[key] = state
		} else if old := states[key]; old != nil {
			known[key] = old
		}
		s.Targets = append(s.Targets, t)
	}
	clear(states)
	for key, state := range known {
		states[key] = state
	}
	p.summarize(s, now)
	return events
}

// syncRules makes the rules of the status those of the plan.
func (p *Plan) syncRules(s *v1alpha1.MonitorStatus) {
	before := map[string]v1alpha1.MonitorRuleStatus{}
	for _, r := range s.Rules {
		before[r.Name] = r
	}
	s.Rules = nil
	for _, r := range p.rules {
		status := before[r.spec.Name]
		status.Name = r.spec.Name
		s.Rules = append(s.Rules, status)
	}
}

// poll takes the poll of one target into its status, and returns the new state.
func (p *Plan) poll(s *v1alpha1.MonitorStatus, t *v1alpha1.MonitorTargetStatus, poll Poll, old any, allowance *expression.Allowance, now time.Time) ([]Event, any) {
	var state any
	digest, err := "", poll.Err
	if err == nil {
		state, digest, err = p.eval(poll.Data, allowance)
	}
	if err != nil {
		lost := t.Reachable || t.Failures == 0
		t.Reachable, t.Message = false, source.OneLine(err.Error(), maxMessage)
		t.Failures++
		for i := range t.Rules {
			m := rules.Missed(memory(t.Rules[i], nil))
			store(&t.Rules[i], m)
		}
		if lost {
			return []Event{{Kind: Lost, Target: *t, Err: err}}, nil
		}
		return nil, nil
	}
	var events []Event
	if t.Failures > 0 {
		events = append(events, Event{Kind: Found, Target: *t})
	}
	t.Reachable, t.Message, t.Failures = true, "", 0
	if t.StateDigest != digest {
		if t.StateDigest != "" {
			events = append(events, Event{Kind: Changed, Target: *t})
		}
		t.StateDigest, t.ChangedAt, s.ChangedAt = digest, timeOf(now), timeOf(now)
	}
	if old == nil {
		old = state
	}
	vars := map[string]any{
		"state": state, "old": old, "target": map[string]any{"name": t.Name},
		"monitor": map[string]any{"name": p.name, "namespace": p.namespace},
	}
	return append(events, p.judge(s, t, vars, digest, allowance, now)...), state
}

// eval returns the state of an answer with its digest.
func (p *Plan) eval(data map[string]any, allowance *expression.Allowance) (any, string, error) {
	state, err := allowance.Eval(p.env, p.state, data)
	if err != nil {
		return nil, "", fmt.Errorf("state: %w", err)
	}
	raw, err := json.Marshal(state)
	if err != nil {
		return nil, "", fmt.Errorf("state: %w", err)
	}
	if len(raw) > maxState {
		return nil, "", fmt.Errorf("state: has %d bytes, more than %d", len(raw), maxState)
	}
	if _, omitted := state.(reference.Omitted); omitted {
		return nil, "", errors.New("state: yields nothing")
	}
	sum := sha256.Sum256(raw)
	return state, hex.EncodeToString(sum[:8]), nil
}

// judge evaluates the rules about the state of a target.
func (p *Plan) judge(s *v1alpha1.MonitorStatus, t *v1alpha1.MonitorTargetStatus, vars map[string]any, digest string, allowance *expression.Allowance, now time.Time) []Event {
	before := map[string]v1alpha1.MonitorMemory{}
	for _, m := range t.Rules {
		before[m.Name] = m
	}
	t.Rules = nil
	var events []Event
	for i, r := range p.rules {
		m := before[r.spec.Name]
		m.Name = r.spec.Name
		vars := withRule(vars, r.spec.Name)
		when, err := true, error(nil)
		if r.when != "" {
			when, err = allowance.Bool(expression.Rule(), r.when, vars)
		}
		if err != nil {
			store(&m, rules.Missed(memory(m, s.Rules[i].Recent)))
			t.Rules = append(t.Rules, m)
			events = append(events, Event{Kind: Failed, Target: *t, Rule: m.Name, Err: fmt.Errorf("when: %w", err)})
			continue
		}
		next, verdict := rules.Next(r.Rule, memory(m, s.Rules[i].Recent), rules.Observation{When: when, Digest: digest}, now)
		store(&m, next)
		if verdict.Fire {
			m.FiredAt = microOf(now)
			s.Rules[i].Recent = recent(r.Rule, s.Rules[i].Recent, now)
			s.Rules[i].Fired++
			s.Rules[i].FiredAt = microOf(now)
		}
		t.Rules = append(t.Rules, m)
		events = append(events, p.fire(s, t, r, verdict, vars, now)...)
	}
	return events
}

// fire records a verdict.
func (p *Plan) fire(s *v1alpha1.MonitorStatus, t *v1alpha1.MonitorTargetStatus, r rule, v rules.Verdict, vars map[string]any, now time.Time) []Event {
	switch {
	case v.Tripped:
		return []Event{{Kind: Tripped, Target: *t, Rule: r.spec.Name}}
	case !v.Fire:
		return nil
	case len(r.spec.Do) > 0 && len(s.Firings) >= maxFirings:
		return []Event{{Kind: Failed, Target: *t, Rule: r.spec.Name, Err: fmt.Errorf("%d firings wait for their reactions; this one is dropped", maxFirings)}}
	}
	if len(r.spec.Do) > 0 {
		s.Firings = append(s.Firings, v1alpha1.MonitorFiring{Rule: r.spec.Name, Target: t.Name, UID: t.UID, At: *microOf(now)})
	}
	return []Event{{Kind: Fired, Target: *t, Rule: r.spec.Name, Vars: vars}}
}

// withRule returns variables with those of a rule.
func withRule(vars map[string]any, name string) map[string]any {
	all := map[string]any{"rule": map[string]any{"name": name}}
	for key, value := range vars {
		all[key] = value
	}
	return all
}

// timeOf returns a time for the status, as precise as it is stored.
func timeOf(t time.Time) *metav1.Time { v := metav1.NewTime(t.Truncate(time.Second)); return &v }

// microOf returns a precise time for the status.
func microOf(t time.Time) *metav1.MicroTime {
	v := metav1.NewMicroTime(t.Truncate(time.Microsecond))
	return &v
}

// Unread takes a reading into the status whose targets aren't known.
func (p *Plan) Unread(s *v1alpha1.MonitorStatus, states States, err error, now time.Time) []Event {
	if len(s.Targets) == 0 {
		p.syncRules(s)
		Progressing(s, ReasonUnreadable, err.Error(), now)
		return nil
	}
	r := Reading{Total: int(s.TargetCount)}
	for _, t := range s.Targets {
		r.Polls = append(r.Polls, Poll{Name: t.Name, UID: t.UID, Err: err})
	}
	return p.Next(s, states, r, now)
}

// Vars returns the variables of a rule that has fired in an earlier process. The state is that of
// the last reading, if the target is still there.
func (p *Plan) Vars(f v1alpha1.MonitorFiring, states States) map[string]any {
	state := states[f.Target+"/"+f.UID]
	if state == nil {
		state = map[string]any{}
	}
	return withRule(map[string]any{
		"state": state, "old": state, "target": map[string]any{"name": f.Target},
		"monitor": map[string]any{"name": p.name, "namespace": p.namespace},
	}, f.Rule)
}
