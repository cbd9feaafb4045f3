package statusview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// DetailText returns the views of objects that have details, with empty lines between them:
//
//	Action shop/db: ready, Completed
//	conditions
//	└── Ready  True  RunSucceeded  2026-03-01T12:00:00Z  the run of these inputs has succeeded
//	run 3
//	├── state     Succeeded
//	└── reason    Spec
//	outputs
//	└── endpoint: db.example.com
//
// Times are in UTC.
func DetailText(o Outside, t Tree) string {
	p := printer{Painter: style.Painter{Color: t.Color}, wide: t.Wide, width: t.Width}
	for _, r := range o.All() {
		p.object(r)
		r.detail(&p)
	}
	return p.b.String()
}

// object prints the first line of a view.
func (p *printer) object(r Row) {
	s := r.Base()
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
	verdict, color := "ready", style.Green
	if !s.Ready {
		verdict, color = "not ready", style.Red
	}
	title := r.Kind() + " " + p.Paint(style.Bold, source.Escape(s.Namespace+"/"+s.Name, "")) + ": " + p.Paint(color, verdict)
	if more := r.headline(); more != "" {
		title += ", " + more
	}
	if !s.Ready && s.Reason == notObserved {
		title += "; " + s.Message
	}
	p.b.WriteString(title + "\n")
}

// section prints rows below a heading, in columns. Without rows, it prints nothing.
func (p *printer) section(title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	cells := make([][]style.Span, len(rows))
	for i, row := range rows {
		for _, text := range row {
			cells[i] = append(cells[i], style.Span{Text: source.Escape(text, "")})
		}
	}
	style.WriteBranches(&p.b, p.Paint(style.Dim, source.Escape(title, "")), style.Columns(p.Painter, cells, max(0, p.width-style.BranchWidth)), p.width)
}

// conditions prints conditions in the order of their types.
func (p *printer) conditions(all []metav1.Condition) {
	var rows [][]string
	for _, c := range slices.SortedFunc(slices.Values(all), func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) }) {
		at := moment(&c.LastTransitionTime)
		if c.LastTransitionTime.Unix() <= 0 {
			at = "" // the default of the CRD
		}
		rows = append(rows, []string{c.Type, string(c.Status), c.Reason, at, c.Message})
	}
	p.section("conditions", rows)
}

// fields returns rows of names and values, without those that have no value.
func fields(pairs ...string) (rows [][]string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			rows = append(rows, []string{pairs[i], pairs[i+1]})
		}
	}
	return rows
}

func (a Action) headline() string { return string(a.Phase) }

// detail prints the parts of an Action.
func (a Action) detail(p *printer) {
	d := a.ActionDetail
	p.conditions(d.Conditions)
	if r := d.Run; r != nil {
		p.section(fmt.Sprintf("run %d", r.Attempt), fields(
			"state", string(r.State), "purpose", string(r.Purpose), "reason", string(r.Reason), "generation", count(r.Generation),
			"recorded", moment(&r.IntentAt), "began", moment(r.StartedAt), "ended", moment(r.FinishedAt), "cancellation", moment(r.CancelRequestedAt),
			"id", r.ID, "url", r.URL, "message", r.Message,
		))
	}
	if plan := d.Plan; plan != nil {
		p.section("plan", fields("digest", plan.Digest, "summary", plan.Summary))
	}
	p.section("next attempt", fields("not before", moment(a.NextAttemptAt), "failures", count(int64(d.Failures))))
	if c := a.LastCheck; c != nil {
		p.section("last check", [][]string{{string(c.Result), moment(&c.At), c.Message}})
	}
	var jobs, artifacts, history [][]string
	for _, j := range d.Jobs {
		jobs = append(jobs, []string{j.Name, j.Status, j.Conclusion})
	}
	for _, f := range d.Artifacts {
		artifacts = append(artifacts, []string{f.Name, strconv.FormatInt(f.SizeInBytes, 10) + " bytes"})
	}
	for _, r := range slices.Backward(d.History) {
		history = append(history, []string{strconv.FormatInt(r.Attempt, 10), moment(&r.FinishedAt), string(r.Result), string(r.Reason), r.Message})
	}
	p.section("jobs", jobs)
	p.section("artifacts", artifacts)
	var outputs [][]string
	for _, name := range slices.Sorted(maps.Keys(d.Outputs)) {
		outputs = append(outputs, []string{name + ": " + OutputText(d.Outputs[name])})
	}
	if s := d.Sensitive; s != nil {
		for _, key := range s.Keys {
			outputs = append(outputs, []string{key + ": (in the Secret " + s.SecretName + ")"})
		}
	}
	p.section("outputs", outputs)
	p.section("history", history)
}

// headline returns how the targets of a Monitor are read.
func (m Monitor) headline() string {
	text := fmt.Sprintf("%d targets", m.Targets)
	if m.Targets == 1 {
		text = "1 target"
	}
	if m.Interval != "" {
		text += ", polled every " + string(m.Interval)
	}
	return text
}

// detail prints the parts of a Monitor.
func (m Monitor) detail(p *printer) {
	d := m.MonitorDetail
	p.conditions(d.Conditions)
	var rules, targets, firings [][]string
	for _, r := range m.Rules {
		times := d.RuleTimes[r.Name]
		state := "doesn't hold"
		if r.Holds {
			state = "holds"
		}
		if times.Since != nil {
			state += " since " + moment(times.Since)
		}
		fired := "never fired"
		if r.Fired > 0 {
			fired = fmt.Sprintf("fired %d times", r.Fired)
			if times.FiredAt != nil {
				fired += ", last at " + moment(&metav1.Time{Time: times.FiredAt.Time})
			}
		}
		tripped := ""
		if r.Tripped {
			tripped = "tripped"
		}
		rules = append(rules, []string{r.Name, state, fired, tripped, r.LastResult})
	}
	for _, t := range d.TargetStates {
		state := "read"
		if !t.Reachable {
			state = "unreachable"
		}
		row := []string{t.Name, state, "", "", t.Message}
		if t.LastPollAt != nil {
			row[2] = "polled " + moment(t.LastPollAt)
		}
		if t.ChangedAt != nil {
			row[3] = "changed " + moment(t.ChangedAt)
		}
		if t.Failures > 0 {
			row[4] = strings.TrimSuffix(fmt.Sprintf("%d polls failed: %s", t.Failures, t.Message), ": ")
		}
		targets = append(targets, row)
	}
	for _, f := range d.Firings {
		firings = append(firings, []string{f.Rule, f.Target, moment(&metav1.Time{Time: f.At.Time})})
	}
	p.section("rules", rules)
	p.section("targets", targets)
	p.section("reactions in flight", firings)
}

// headline returns the source and the effects of a Receiver.
func (r Receiver) headline() string {
	text := r.Source
	if r.Every != "" {
		text += " every " + string(r.Every)
	}
	return text + " → " + strings.Join(r.Effects, ", ")
}

// detail prints the parts of a Receiver.
func (r Receiver) detail(p *printer) {
	p.conditions(r.Conditions)
	var letters [][]string
	for _, l := range slices.Backward(r.DeadLetters) {
		letters = append(letters, []string{moment(&l.At), cmp.Or(l.ID, l.Digest), l.Message})
	}
	p.section("dead letters", letters)
}

// Line implements [Row].
func (a Action) Line() string { return a.line("Action", string(a.Phase)) }

// Line implements [Row].
func (m Monitor) Line() string {
	if holds := m.rules(Rule.holds); holds != "" {
		return m.line("Monitor", "holds "+holds)
	}
	return m.line("Monitor", "")
}

// Line implements [Row].
func (r Receiver) Line() string { return r.line("Receiver", "") }

// line returns "Action shop/db: not ready, Applying: MESSAGE".
func (s Summary) line(kind, more string) string {
	text := kind + " " + s.Namespace + "/" + s.Name + ": not ready"
	if s.Ready {
		text = kind + " " + s.Namespace + "/" + s.Name + ": ready"
	}
	if more != "" {
		text += ", " + more
	}
	if s.Message != "" && !s.Ready {
		text += ": " + s.Message
	}
	return source.Escape(text, "")
}
