package effect

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// defaultKeep is how long messages are remembered.
const defaultKeep = 24 * time.Hour

// defaultWindow is how far the time of a message may be from now.
const defaultWindow = 5 * time.Minute

// vars returns the variables of a message.
func vars(m source.Message) map[string]any {
	return map[string]any{"headers": m.Headers, "body": m.Body, "id": m.ID, "digest": m.Digest}
}

// order has the effects that a message requests.
type order struct {
	// skip is set if the filter leaves the message out.
	skip bool
	// key identifies the message.
	key  string
	keep time.Duration
	vars map[string]any
}

// decide returns what a message asks for. An error means that the message is refused.
func decide(spec *v1alpha1.ReceiverSpec, m source.Message, now time.Time) (order, error) {
	o := order{key: m.ID, keep: defaultKeep, vars: vars(m)}
	if m.Excess != "" { // queues have limits of their own
		return o, errors.New(m.Excess)
	}
	if err := fresh(spec.Replay, o.vars, now); err != nil {
		return o, err
	}
	if spec.Filter != "" {
		pass, err := expression.Bool(expression.Message(), string(spec.Filter), o.vars)
		if err != nil {
			return o, fmt.Errorf("filter: %w", err)
		}
		if o.skip = !pass; o.skip {
			return o, nil
		}
	}
	if d := spec.Dedupe; d != nil {
		o.keep = duration(d.Keep, defaultKeep)
		if d.Key != "" {
			key, err := expression.String(expression.Message(), string(d.Key), o.vars)
			if err != nil {
				return o, fmt.Errorf("dedupe.key: %w", err)
			}
			o.key = key
		}
	}
	if o.key == "" {
		o.key = rand.Text() // the message is a new one
	}
	return o, nil
}

// fresh returns an error if a message is too old, or from the future.
func fresh(r *v1alpha1.ReceiverReplay, vars map[string]any, now time.Time) error {
	if r == nil {
		return nil
	}
	value, err := expression.Eval(expression.Message(), string(r.Timestamp), vars)
	if err != nil {
		return fmt.Errorf("replay.timestamp: %w", err)
	}
	made, err := timeOf(value)
	if err != nil {
		return fmt.Errorf("replay.timestamp: %w", err)
	}
	window := duration(r.Window, defaultWindow)
	if age := now.Sub(made); age > window || age < -window {
		return fmt.Errorf("the message was made %s ago, outside of the window of %s", age.Round(time.Second), window)
	}
	return nil
}

// timeOf returns the time that an expression has yielded.
func timeOf(value any) (time.Time, error) {
	switch v := value.(type) {
	case string:
		made, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return made, errors.New("the value isn't a time as of RFC 3339")
		}
		return made, nil
	case int64:
		return time.Unix(v, 0), nil
	case float64:
		return time.UnixMilli(int64(v * 1000)), nil
	}
	return time.Time{}, fmt.Errorf("yields %T, not a string or a number", value)
}

// duration returns a duration of the API, whose form the CRD checks.
func duration(d v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if v, err := time.ParseDuration(string(d)); err == nil {
		return v
	}
	return otherwise
}
