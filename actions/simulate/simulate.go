// Package simulate plays recorded answers to a Monitor, and tells which rules would fire. It does
// nothing else: there is no cluster and no clock.
//
// [ReadMonitor] and [ReadRecording] read the input, and [Run] is the entry point.
package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Answer is one recorded poll of a target.
type Answer struct {
	// At is the time of the poll since the begin, as a Go duration.
	At string `json:"at,omitempty"`
	// Target is the name of the target.
	Target string `json:"target,omitempty"`
	// Answer is what was read: the JSON of a GraphQL server, {status, headers, body} of the
	// probe http, or the object.
	Answer map[string]any `json:"answer,omitempty"`
	// Error is why the poll failed.
	Error string `json:"error,omitempty"`
}

// ReadMonitor reads a Monitor of YAML or JSON. Fields that don't exist are errors.
func ReadMonitor(text []byte) (*v1alpha1.Monitor, error) {
	m := &v1alpha1.Monitor{}
	if err := yaml.UnmarshalStrict(text, m); err != nil {
		return nil, errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error unmarshaling JSON: "), "while decoding JSON: "))
	}
	if m.Kind != "Monitor" || m.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("is %s %s, want %s Monitor", m.APIVersion, m.Kind, v1alpha1.GroupVersion)
	}
	return m, nil
}

// ReadRecording reads answers of YAML or JSON: a list of them, or one answer of the server.
func ReadRecording(text []byte) ([]Answer, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		one := Answer{}
		if err := json.Unmarshal(raw, &one.Answer); err != nil {
			return nil, errors.New("must be a list of recorded answers, or one answer of the server")
		}
		return []Answer{one}, nil
	}
	var all []Answer
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("must be a list of {at, target, answer, error}: %w", err)
	}
	return all, nil
}

// Line is what one poll has led to.
type Line struct {
	At     time.Duration
	Target string
	Text   string
}

// Run plays answers in their order. Those with the same time are one reading.
func Run(m *v1alpha1.Monitor, answers []Answer) ([]Line, error) {
	plan, err := verdict.Compile(m)
	if err != nil {
		return nil, err
	}
	begin := time.Unix(0, 0)
	status, states := &v1alpha1.MonitorStatus{}, verdict.States{}
	var lines []Line
	for len(answers) > 0 {
		at, err := time.ParseDuration(or(answers[0].At, "0s"))
		if err != nil {
			return nil, fmt.Errorf("at: %w", err)
		}
		var r verdict.Reading
		for first := answers[0].At; len(answers) > 0 && answers[0].At == first; {
			poll, err := pollOf(m, answers[0])
			if err != nil {
				return nil, fmt.Errorf("answer at %s: %w", at, err)
			}
			r.Polls, answers = append(r.Polls, poll), answers[1:]
		}
		events := plan.Next(status, states, r, begin.Add(at))
		status.Firings = nil // nothing is done
		for _, t := range status.Targets {
			lines = append(lines, Line{at, t.Name, text(m, t, events)})
		}
	}
	return lines, nil
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
	case a.Error != "":
		poll.Err = errors.New(a.Error)
		return poll, nil
	case a.Answer == nil:
		return poll, errors.New("answer or error is required")
	}
	answer, _ := integers(a.Answer).(map[string]any)
	switch {
	case m.Spec.Probe.HTTP != nil:
		poll.Data = map[string]any{"response": answer}
	case m.Spec.Probe.Object != nil:
		poll.Data = map[string]any{"object": answer}
	case answer["errors"] != nil:
		poll.Err = errors.New("the answer has errors")
	case answer["data"] == nil:
		return poll, errors.New("has no data; record the whole answer of the server, such as {\"data\": {…}}")
	default:
		poll.Data = map[string]any{"data": answer["data"]}
	}
	return poll, nil
}

// integers replaces the numbers of decoded JSON that are whole with integers, as in answers.
func integers(value any) any {
	switch v := value.(type) {
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	case map[string]any:
		for name := range v {
			v[name] = integers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return value
}

// text describes what a poll has led to for one target.
func text(m *v1alpha1.Monitor, t v1alpha1.MonitorTargetStatus, events []verdict.Event) string {
	parts := []string{"unchanged"}
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
			parts = append(parts, e.Rule+" fires"+does(m, e.Rule))
		case verdict.Tripped:
			parts = append(parts, e.Rule+" is tripped")
		case verdict.Failed:
			parts = append(parts, fmt.Sprintf("%s fails: %v", e.Rule, e.Err))
		}
	}
	for _, rule := range t.Rules {
		if fires := strings.Contains(strings.Join(parts, "; "), rule.Name+" fires"); rule.Holds && !fires {
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
