package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// compiled returns a Monitor of a spec, and its plan.
func compiled(t *testing.T, spec string) (*v1alpha1.Monitor, *Plan, error) {
	t.Helper()
	m := &v1alpha1.Monitor{}
	m.Name, m.Namespace = "my-app", "default"
	if err := yaml.UnmarshalStrict([]byte(spec), &m.Spec); err != nil {
		t.Fatal(err)
	}
	plan, err := Compile(m)
	return m, plan, err
}

// graphql is a spec with a query, to which rules are appended.
const graphql = `
serviceAccountName: a
target: {url: "https://example.com"}
probe: {graphql: {query: "{ application { health tasks } }"}}
state: data.application
rules:
`

// answer is the data of an answer.
func answer(health string) map[string]any {
	return map[string]any{"data": map[string]any{"application": map[string]any{"health": health, "tasks": int64(len(health))}}}
}

// play feeds the health of targets, ten seconds apart, to the plan of rules, and returns the events:
// one text for each reading. A reading is a map of names to health; "x" is a failed poll.
func play(t *testing.T, rules string, readings ...string) []string {
	t.Helper()
	_, plan, err := compiled(t, graphql+rules)
	if err != nil {
		t.Fatal(err)
	}
	status, states, now := &v1alpha1.MonitorStatus{}, States{}, time.Unix(1e9, 0)
	var all []string
	for _, text := range readings {
		if text == "restart" {
			raw, err := json.Marshal(status)
			if err != nil {
				t.Fatal(err)
			}
			status, states = &v1alpha1.MonitorStatus{}, States{}
			if err := json.Unmarshal(raw, status); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var r Reading
		for _, target := range strings.Fields(text) {
			name, health, _ := strings.Cut(target, "=")
			poll := Poll{Name: name, UID: "uid-" + name, Data: answer(health)}
			if health == "x" {
				poll.Data, poll.Err = nil, errors.New("away")
			}
			r.Polls = append(r.Polls, poll)
		}
		var line []string
		for _, e := range plan.Next(status, states, r, now) {
			kind := []string{"changed", "lost", "found", "fired", "tripped", "failed"}[e.Kind]
			line = append(line, strings.Trim(fmt.Sprint(kind, " ", e.Rule, " ", e.Target.Name), " "))
		}
		all = append(all, strings.Join(line, ", "))
		now = now.Add(10 * time.Second)
	}
	return all
}

// TestNext checks the events of readings.
func TestNext(t *testing.T) {
	t.Parallel()
	const bad = `state.health == "bad"`
	for name, test := range map[string]struct {
		rules    string
		readings []string
		want     string
	}{
		"enter once":        {`- {name: r, when: '` + bad + `'}`, []string{"a=ok", "a=bad", "a=bad", "a=ok", "a=bad"}, "; changed  a, fired r a; ; changed  a; changed  a, fired r a"},
		"restart":           {`- {name: r, when: '` + bad + `'}`, []string{"a=bad", "restart", "a=bad", "a=ok"}, "fired r a; ; changed  a"},
		"for and restart":   {`- {name: r, when: '` + bad + `', for: 20s}`, []string{"a=bad", "a=bad", "restart", "a=bad", "a=bad"}, "; ; fired r a; "},
		"each target":       {`- {name: r, when: '` + bad + `'}`, []string{"a=ok b=bad", "a=bad b=bad"}, "fired r b; changed  a, fired r a"},
		"another Pod":       {`- {name: r, when: '` + bad + `'}`, []string{"a=bad", "b=bad", "a=bad"}, "fired r a; fired r b; fired r a"},
		"limit of all":      {`- {name: r, when: '` + bad + `', limit: {count: 2, per: 1h}}`, []string{"a=bad b=bad c=bad", "a=bad b=bad c=bad"}, "fired r a, fired r b, tripped r c; "},
		"limit of equals":   {`- {name: r, when: '` + bad + `', limit: {count: 2, per: 1h}}`, []string{"a=bad b=bad", "a=ok b=ok", "a=bad b=ok"}, "fired r a, fired r b; changed  a, changed  b; changed  a, tripped r a"},
		"cooldown of one":   {`- {name: r, when: '` + bad + `', firesOn: While, cooldown: 20s}`, []string{"a=bad", "a=bad b=bad", "a=bad b=bad"}, "fired r a; fired r b; fired r a"},
		"limit and restart": {`- {name: r, when: '` + bad + `', firesOn: While, limit: {count: 1, per: 30s}}`, []string{"a=bad", "restart", "a=bad", "restart", "a=bad", "a=bad"}, "fired r a; tripped r a; ; fired r a"},
		"failed polls":      {`- {name: r, firesOn: Change}`, []string{"a=x", "a=x", "a=ok", "a=x", "a=bad"}, "lost  a; ; found  a; lost  a; found  a, changed  a, fired r a"},
		"change, restart":   {`- {name: r, firesOn: Change}`, []string{"a=ok", "restart", "a=ok", "a=bad"}, "; ; changed  a, fired r a"},
		"trigger":           {`- {name: r, trigger: {field: health, condition: equals, value: 'b"\ad'}}`, []string{`a=b"\ad`}, "fired r a"},
		"trigger number":    {`- {name: r, trigger: {field: tasks, condition: greater_than, value: 2}}`, []string{"a=ok", "a=bad"}, "; changed  a, fired r a"},
		"trigger contains":  {`- {name: r, trigger: {field: health, condition: contains, value: ad}}`, []string{"a=bad"}, "fired r a"},
		"old":               {`- {name: r, when: 'state.tasks > old.tasks'}`, []string{"a=ok", "a=bad"}, "; changed  a, fired r a"},
		"wrong type":        {`- {name: r, when: 'state.health + 1 == 2'}`, []string{"a=ok"}, "failed r a"},
	} {
		if got := strings.Join(play(t, test.rules, test.readings...), "; "); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
	}
}

// TestCompile checks the errors of Monitors.
func TestCompile(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"- {name: r, when: 'state.'}":                                                                "spec.rules[0] (r): when: column 7: syntax error",
		"- {name: r, when: 'stat.x'}":                                                                `no variable "stat"`,
		"- {name: r, when: 'state.owner == 1'}":                                                      "spec.rules[0] (r) reads application.owner, which the query doesn't select",
		"- {name: r, when: 'has(state.owner)'}":                                                      "",
		"- {name: r, trigger: {field: owner, condition: equals, value: x}}":                          "reads application.owner",
		"- {name: r, trigger: {field: health, condition: equals, value: [1]}}":                       "must be a string, a number",
		"- {name: r, when: 'true', do: [{http: {url: 'https://x.y', body: 'state.healt'}}]}":         "reads application.healt,",
		"- {name: r, when: 'true', do: [{http: {url: 'https://x.y', body: '1 +'}}]}":                 "do[0]: http.body: column 4: syntax error",
		"- {name: r, when: 'state.health == \"x\" && old.tasks > 1 && monitor.name == target.name'}": "",
	} {
		_, _, err := compiled(t, graphql+rules)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", rules, err, want)
		}
	}
	for spec, want := range map[string]string{
		"probe: {http: {}}\ninterval: soon":                                                                                            `spec.interval: "soon" is not a duration`,
		"probe: {http: {}}\nrules: [{name: r, when: 'true', do: [{exec: {command: [ls]}}]}]":                                           "do[0]: exec: requires that target.pods reads Each",
		"probe: {http: {}}\nrules: [{name: r, when: 'true', do: [{restartPods: {}}]}]":                                                 "restartPods: the target has no Pods",
		"probe: {http: {}}\ntarget: {service: {name: a, port: 1}}\nrules: [{name: r, when: 'true', do: [{restartPods: {}}]}]":          "which: All is required",
		"probe: {http: {}}\nrules: [{name: r, when: 'true', do: [{patch: {kind: A, name: a, patch: {metadata: {finalizers: [a]}}}}]}]": "patch can't have metadata.finalizers",
		`probe: {graphql: {query: "mutation { stop }"}}`:                                                                               "spec.probe.graphql.query: a mutation is refused",
		`probe: {http: {}}` + "\nstate: data.x":                                                                                        `spec.state: no variable "data"`,
		`probe: {http: {}}` + "\nstate: response.body.x":                                                                               "",
		`probe: {object: {apiVersion: v1, kind: Pod, name: x}}`:                                                                        "",
		`probe: {graphql: {query: "{ a }"}}` + "\nstate: data.b":                                                                       "spec.state reads b, which the query doesn't select",
		`probe: {graphql: {query: "{ a }"}}` + "\nstate: '[data.a]'":                                                                   "",
		`probe: {graphql: {query: "{ a }"}}` + "\nrules: [{name: r, when: state.b == 1}]":                                              "spec.rules[0] (r) reads b, which the query doesn't select",
		`probe: {graphql: {query: "{ a }"}}` + "\nrules: [{name: r, when: state.a.b == 1}]":                                            "",
	} {
		if _, _, err := compiled(t, spec); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// TestBounds keeps the status bounded whatever a Monitor reads.
func TestBounds(t *testing.T) {
	t.Parallel()
	_, plan, err := compiled(t, graphql+`- {name: r, firesOn: While, when: 'true', do: [{run: {action: a}}], limit: {count: 100, per: 1h}}`)
	if err != nil {
		t.Fatal(err)
	}
	status, states, now := &v1alpha1.MonitorStatus{}, States{}, time.Unix(1e9, 0)
	for i := range 20 {
		var r Reading
		for j := range 300 {
			r.Polls = append(r.Polls, Poll{Name: fmt.Sprint("pod-", j), UID: fmt.Sprint(i%2, j), Data: answer("ok")})
		}
		r.Total = 400
		plan.Next(status, states, r, now)
		now = now.Add(time.Second)
	}
	if n := len(status.Targets); n != v1alpha1.MaxMonitorTargets || status.TargetCount != 400 || len(states) != n {
		t.Errorf("%d targets of %d, %d states", n, status.TargetCount, len(states))
	}
	events := 0
	_, silent, err := compiled(t, graphql+`- {name: r, firesOn: While, when: 'true'}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range silent.Next(status.DeepCopy(), states, Reading{Polls: []Poll{{Name: "a", Data: answer("ok")}}}, now) {
		if e.Kind == Fired {
			events++
		}
	}
	if events != 1 {
		t.Errorf("a rule without reactions fires %d times while others wait", events)
	}
	if n := len(status.Rules[0].Recent); n != 100 || len(status.Firings) > maxFirings {
		t.Errorf("%d recent firings, %d firings", n, len(status.Firings))
	}
}

// TestCost ends the evaluation of expressions that cost too much together.
func TestCost(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	for i := range 32 {
		fmt.Fprintf(&rules, "- {name: r%d, when: '%d == 0 || [1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, a + b + c + d > 0))))'}\n", i, i)
	}
	_, plan, err := compiled(t, graphql+rules.String())
	if err != nil {
		t.Fatal(err)
	}
	var r Reading
	for i := range 100 {
		r.Polls = append(r.Polls, Poll{Name: fmt.Sprint("pod-", i), Data: answer("ok")})
	}
	fired, failed := 0, 0
	for _, e := range plan.Next(&v1alpha1.MonitorStatus{}, States{}, r, time.Unix(1e9, 0)) {
		switch {
		case e.Kind == Fired:
			fired++
		case strings.Contains(e.Err.Error(), "cost too much"):
			failed++
		}
	}
	if fired == 0 || fired > 1000 || failed == 0 {
		t.Errorf("%d rules have fired, %d have cost too much", fired, failed)
	}
}
