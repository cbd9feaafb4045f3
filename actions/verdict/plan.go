package verdict

import (
	"time"

	"github.com/pequod-io/pequod/actions/rules"
	"github.com/pequod-io/pequod/api/monitor"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Plan is a Monitor whose fields were checked.
type Plan struct {
	// Interval is the time between two polls, and Timeout limits one.
	Interval, Timeout time.Duration

	namespace, name string
	env             *reference.Variables
	state           string
	rules           []rule
}

// rule is a rule of a Monitor.
type rule struct {
	rules.Rule
	spec v1alpha1.MonitorRule
	when string // "" is always true
}

// Compile returns the plan of a Monitor, or the errors of [monitor.Compile].
func Compile(m *v1alpha1.Monitor) (*Plan, error) {
	x, err := monitor.Compile(&m.Spec)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Interval: Duration(m.Spec.Interval, 30*time.Second), Timeout: Duration(m.Spec.Timeout, 5*time.Second),
		namespace: m.Namespace, name: m.Name, env: x.Env, state: x.State,
	}
	for i, spec := range m.Spec.Rules {
		r := rule{spec: spec, when: x.When[i], Rule: rules.Rule{
			On: rules.On(spec.FiresOn), For: Duration(spec.For, 0), Cooldown: Duration(spec.Cooldown, 0),
		}}
		if r.On == "" {
			r.On = rules.Enter
		}
		if l := spec.Limit; l != nil {
			r.Limit, r.Per = int(l.Count), Duration(l.Per, time.Hour)
		}
		p.rules = append(p.rules, r)
	}
	return p, nil
}

// Duration returns a duration of the API, whose form the CRD checks.
func Duration(d v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if v, err := time.ParseDuration(string(d)); err == nil {
		return v
	}
	return otherwise
}
