package rules

import (
	"slices"
	"time"
)

// On is the event that a rule fires on.
type On string

// The events.
const (
	// Enter is the time at which the rule begins to hold.
	Enter On = "Enter"
	// Leave is the time at which it ceases to hold.
	Leave On = "Leave"
	// Change is a change of the state while the condition is true.
	Change On = "Change"
	// While is every observation while the rule holds.
	While On = "While"
)

// Rule is one rule.
type Rule struct {
	On On
	// For is how long the condition must be true before the rule holds, and for Leave how
	// long it must be false. For Change it is how long the new state must remain.
	For time.Duration
	// Cooldown is the shortest time between two firings.
	Cooldown time.Duration
	// Limit is how often the rule may fire in the time Per; 0 means without a limit.
	Limit int
	Per   time.Duration
}

// Memory is what a rule knows about earlier observations. The zero value knows nothing.
type Memory struct {
	// Holds reports whether the rule holds.
	Holds bool
	// Since is when the condition, or for Change the state, became other than the confirmed
	// one. It is zero if there is no such difference.
	Since time.Time
	// Digest is that of the confirmed state, and Candidate that of a newer one. Only Change
	// sets them.
	Digest, Candidate string
	// Owed is set if the rule should have fired, and cooldown or limit prevented it.
	Owed bool
	// Fired are the times of the last firings, newest last: at least the last one, and those that
	// count for the limit.
	Fired []time.Time
	// Tripped is set while the limit prevents a firing.
	Tripped bool
}

// Observation is the result of one successful poll.
type Observation struct {
	// When is the value of the condition.
	When bool
	// Digest is that of the state.
	Digest string
}

// Verdict is the result of an observation.
type Verdict struct {
	// Fire is set if the rule fires now.
	Fire bool
	// Tripped is set if the limit prevents a firing for the first time.
	Tripped bool
}

// Next returns the memory after an observation.
func Next(r Rule, m Memory, o Observation, now time.Time) (Memory, Verdict) {
	if r.On == Change {
		m.change(r, o, now)
	} else {
		m.hold(r, o, now)
	}
	return m, m.fire(r, now)
}

// Missed returns the memory after a poll that failed. Whether the condition remained true is not
// known, so a time that was running begins again. What held still holds.
func Missed(m Memory) Memory {
	m.Since, m.Candidate = time.Time{}, ""
	return m
}

// hold updates whether the rule holds. The memory may be that of a rule that was edited, and fired
// on another event.
func (m *Memory) hold(r Rule, o Observation, now time.Time) {
	if m.Digest != "" {
		*m = Memory{Fired: m.Fired} // it fired on changes
	}
	if o.When == m.Holds {
		m.Since = time.Time{}
	} else {
		delay := r.For
		if m.Holds != (r.On == Leave) { // only the edge that the rule is about is delayed
			delay = 0
		}
		if m.Since.IsZero() || m.Since.After(now) {
			m.Since = now
		}
		if now.Sub(m.Since) >= delay {
			m.Holds, m.Since = o.When, time.Time{}
			m.Owed = m.Holds == (r.On == Enter) && r.On != While
		}
	}
	switch {
	case r.On == While:
		m.Owed = m.Holds
	case m.Holds != (r.On == Enter):
		m.Owed = false
	}
}

// change updates the confirmed state. Without one, the memory is new, or that of a rule that was
// edited, and didn't fire on changes.
func (m *Memory) change(r Rule, o Observation, now time.Time) {
	switch {
	case m.Digest == "":
		*m = Memory{Digest: o.Digest, Fired: m.Fired}
	case o.Digest == m.Digest:
		m.Since, m.Candidate = time.Time{}, ""
	default:
		if o.Digest != m.Candidate || m.Since.IsZero() || m.Since.After(now) {
			m.Since, m.Candidate = now, o.Digest
		}
		if now.Sub(m.Since) >= r.For {
			m.Owed = m.Owed || o.When
			m.Digest, m.Candidate, m.Since = o.Digest, "", time.Time{}
		}
	}
}

// fire decides whether a rule that owes a firing fires now.
func (m *Memory) fire(r Rule, now time.Time) Verdict {
	var last time.Time
	if n := len(m.Fired); n > 0 {
		last = m.Fired[n-1]
	}
	recent := slices.DeleteFunc(slices.Clone(m.Fired), func(at time.Time) bool {
		return r.Limit == 0 || now.Sub(at) >= r.Per
	})
	if !m.Owed {
		m.Tripped = false
		return Verdict{}
	}
	if !last.IsZero() && now.Sub(last) < r.Cooldown {
		return Verdict{}
	}
	if r.Limit > 0 && len(recent) >= r.Limit {
		first := !m.Tripped
		m.Tripped = true
		return Verdict{Tripped: first}
	}
	m.Owed, m.Tripped = false, false
	m.Fired = append(recent, now)
	return Verdict{Fire: true}
}
