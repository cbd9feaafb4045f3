// Package simulate plays recorded answers to a Monitor, and tells which rules would fire. It does
// nothing else: there is no cluster and no clock.
//
// [ReadRecording] reads the answers, and [Run] is the entry point.
package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Answer is one recorded poll of a target.
type Answer struct {
	// At is the time of the poll since the begin, as a Go duration.
	At string `json:"at,omitempty"`
	// Target is the name of the target.
	Target string `json:"target,omitempty"`
	// Answer is what was read: the JSON of a GraphQL server, {status, headers, body} of the
	// probe http, or the object.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Error is why the poll failed.
	Error string `json:"error,omitempty"`

	// path leads from the recording to the answer.
	path string
}

// ReadRecording reads answers of JSON: a list of them, or one answer of the server.
func ReadRecording(raw []byte) ([]Answer, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if _, ok := executor.Decode(raw).(map[string]any); !ok {
			return nil, errors.New("must be a list of recorded answers, or one answer of the server")
		}
		return []Answer{{Answer: raw}}, nil
	}
	var all []Answer
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("must be a list of {at, target, answer, error}: %w", err)
	}
	for i := range all {
		all[i].path = fieldpath.Index(i)
	}
	return all, nil
}

// WrongAnswer is the error of an answer that can't be played.
type WrongAnswer struct {
	// Path leads from the recording to the answer. It is "" if there is only one.
	Path string
	Err  error
}

// Error implements error.
func (w *WrongAnswer) Error() string {
	if w.Path == "" {
		return w.Err.Error()
	}
	return w.Path + ": " + w.Err.Error()
}

// Unwrap returns the reason.
func (w *WrongAnswer) Unwrap() error { return w.Err }

// Line is what one poll has led to.
type Line struct {
	At     time.Duration
	Target string
	Text   string
}

// Run plays answers to a Monitor with its plan. Those with the same time are one reading, of which a
// target has one answer, and no time is before the one above it. Errors are of the type
// [*WrongAnswer].
func Run(m *v1alpha1.Monitor, plan *verdict.Plan, answers []Answer) ([]Line, error) {
	begin := time.Unix(0, 0)
	status, states := &v1alpha1.MonitorStatus{}, verdict.States{}
	var lines []Line
	var r verdict.Reading
	at := time.Duration(0)
	play := func() {
		events := plan.Next(status, states, r, begin.Add(at))
		status.Firings = nil // nothing is done
		for _, t := range status.Targets {
			lines = append(lines, Line{at, t.Name, text(m, t, events)})
		}
		r = verdict.Reading{}
	}
	for _, a := range answers {
		poll, err := pollOf(m, a)
		next := at
		if err == nil {
			next, err = timeOf(a, at)
		}
		same := func(p verdict.Poll) bool { return p.Name == poll.Name }
		if err == nil && next == at && slices.ContainsFunc(r.Polls, same) {
			err = fmt.Errorf("%s has another answer at %s", poll.Name, at)
		}
		if err != nil {
			return nil, &WrongAnswer{a.path, err}
		}
		if next != at && len(r.Polls) > 0 {
			play()
		}
		at, r.Polls = next, append(r.Polls, poll)
	}
	if len(r.Polls) > 0 {
		play()
	}
	return lines, nil
}

// timeOf returns the time of an answer after another one.
func timeOf(a Answer, before time.Duration) (time.Duration, error) {
	at, err := time.ParseDuration(or(a.At, "0s"))
	switch {
	case err != nil:
		return 0, fmt.Errorf("at: %q is not a duration such as 90s", a.At)
	case at < before:
		return 0, fmt.Errorf("at: %s is before %s, the time of the answer above", at, before)
	}
	return at, nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// pollOf returns an answer as a poll.
func pollOf(m *v1alpha1.Monitor, a Answer) (verdict.Poll, error) {
	poll := verdict.Poll{Name: or(a.Target, "target"), UID: "recorded"}
	switch {
	case (a.Error != "") == (len(a.Answer) > 0):
		return poll, errors.New("exactly one of answer and error is required")
	case a.Error != "":
		poll.Err = errors.New(a.Error)
		return poll, nil
	}
	answer, ok := executor.Decode(a.Answer).(map[string]any)
	if !ok {
		return poll, errors.New("answer: must be an object")
	}
	failures, _ := answer["errors"].([]any)
	switch probe := m.Spec.Probe; {
	case probe.HTTP != nil:
		code, ok := answer["status"].(int64)
		if !ok {
			return poll, errors.New("answer: has no status; record {status, headers, body}")
		}
		if !probe.HTTP.Expects(int(code)) {
			poll.Err = fmt.Errorf("answers %d", code)
		}
		poll.Data = map[string]any{"response": answer}
	case probe.Object != nil:
		poll.Data = map[string]any{"object": answer}
	case len(failures) > 0:
		poll.Err = errors.New("the answer has errors")
	case answer["data"] == nil:
		return poll, errors.New("answer: has no data; record the whole answer of the server, such as {\"data\": {…}}")
	default:
		poll.Data = map[string]any{"data": answer["data"]}
	}
	return poll, nil
}

// text describes what a poll has led to for one target.
func text(m *v1alpha1.Monitor, t v1alpha1.MonitorTargetStatus, events []verdict.Event) string {
	parts, fired := []string{"unchanged"}, map[string]bool{}
	if !t.Reachable {
		parts[0] = "not read: " + t.Message
	}
	for _, e := range events {
		if e.Target.Name != t.Name {
			continue
		}
		switch e.Kind {
		case verdict.Changed:
			parts[0] = "changed"
		case verdict.Fired:
			fired[e.Rule] = true
			parts = append(parts, e.Rule+" fires"+does(m, e.Rule))
		case verdict.Tripped:
			parts = append(parts, e.Rule+" is tripped")
		case verdict.Failed:
			parts = append(parts, fmt.Sprintf("%s fails: %v", e.Rule, e.Err))
		}
	}
	for _, rule := range t.Rules {
		if rule.Holds && !fired[rule.Name] {
			parts = append(parts, rule.Name+" holds")
		}
	}
	return strings.Join(parts, "; ")
}

// does returns the reactions of a rule.
func does(m *v1alpha1.Monitor, name string) string {
	var all []string
	for _, rule := range m.Spec.Rules {
		for _, do := range rule.Do {
			if rule.Name == name {
				all = append(all, do.Name())
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}
