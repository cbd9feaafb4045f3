package statusview

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Outside is the state of what pequod-actions executes. Its lists have an [Action], a [Monitor] or
// a [Receiver] in each row, and [Outside.Sort] sorts them by namespace and name.
type Outside struct {
	Actions   []Row `json:"actions,omitempty"`
	Monitors  []Row `json:"monitors,omitempty"`
	Receivers []Row `json:"receivers,omitempty"`
}

// Row is the state of an object that pequod-actions executes. Its JSON is that of the report.
type Row interface {
	// Kind is Action, Monitor or Receiver.
	Kind() string
	Base() Summary
	// Line returns the state as a phrase, for a line per change.
	Line() string
	// columns returns the cells of the table after the name, and those of its wide form.
	columns() (short, wide []string)
	// headline returns what the first line of the details says besides the name and Ready, and
	// detail prints the lines that follow.
	headline() string
	detail(p *printer)
}

// Summary is what Actions, Monitors and Receivers have in common.
type Summary struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is the condition Ready, if it is about the latest generation. Reason and Message are
	// those of the condition.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Action is the state of an Action.
type Action struct {
	Summary

	Phase v1alpha1.ActionPhase `json:"phase,omitempty"`
	// Attempt is the number of the run, and URL where people can look at it.
	Attempt int64  `json:"attempt,omitempty"`
	URL     string `json:"url,omitempty"`
	// NextAttemptAt is the time before which nothing is sent.
	NextAttemptAt *metav1.Time `json:"nextAttemptAt,omitempty"`
	// LastCheck is the result of the last check for drift.
	LastCheck *v1alpha1.CheckResult `json:"lastCheck,omitempty"`
	// ActionDetail is nil in lists.
	*ActionDetail
}

// Monitor is the state of a Monitor.
type Monitor struct {
	Summary

	// Targets is the number of targets, and Unreachable lists those that can't be read.
	Targets     int32    `json:"targets"`
	Unreachable []Target `json:"unreachable,omitempty"`
	Rules       []Rule   `json:"rules,omitempty"`
	// ChangedAt is the time of the last change of a state.
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`
	// MonitorDetail is nil in lists.
	*MonitorDetail
}

// Target is a target of a Monitor that can't be read.
type Target struct {
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
}

// Rule is the state of a rule of a Monitor, for all targets.
type Rule struct {
	Name string `json:"name"`
	// Holds is set if the rule holds for a target, and Tripped if its limit prevents a firing.
	Holds   bool `json:"holds"`
	Tripped bool `json:"tripped"`
	// Fired is the number of firings, and LastResult the result of the last reactions.
	Fired      int64  `json:"fired"`
	LastResult string `json:"lastResult,omitempty"`
}

// Receiver is the state of a Receiver. The path of its webhook is secret, and left out.
type Receiver struct {
	Summary

	// Source is webhook, poll, amqp or sqs.
	Source string `json:"source"`
	// DeadLetters are the last messages that were given up, newest first.
	DeadLetters []v1alpha1.DeadLetter `json:"deadLetters,omitempty"`
	// ReceiverDetail is nil in lists.
	*ReceiverDetail
}

// Base returns the summary itself.
func (s Summary) Base() Summary { return s }

// Kind implements [Row].
func (Action) Kind() string { return "Action" }

// Kind implements [Row].
func (Monitor) Kind() string { return "Monitor" }

// Kind implements [Row].
func (Receiver) Kind() string { return "Receiver" }

// All returns the rows of all lists.
func (o *Outside) All() []Row { return slices.Concat(o.Actions, o.Monitors, o.Receivers) }

// Empty reports whether there is nothing.
func (o *Outside) Empty() bool { return len(o.All()) == 0 }

// Ready reports whether everything is ready.
func (o *Outside) Ready() bool {
	return !slices.ContainsFunc(o.All(), func(r Row) bool { return !r.Base().Ready })
}

// namespaces returns the namespaces of the objects.
func (o *Outside) namespaces() map[string]bool {
	all := map[string]bool{}
	for _, r := range o.All() {
		all[r.Base().Namespace] = true
	}
	return all
}

// Without returns the rows without those of objects that another one has.
func (o *Outside) Without(other Outside) (rest Outside) {
	for _, r := range o.All() {
		if !slices.ContainsFunc(other.All(), func(one Row) bool { return one.Kind() == r.Kind() && compare(one, r) == 0 }) {
			rest.Add(r)
		}
	}
	return rest
}

// Add adds rows to the lists of their kinds.
func (o *Outside) Add(rows ...Row) {
	for _, r := range rows {
		list := &o.Receivers
		switch r.Kind() {
		case "Action":
			list = &o.Actions
		case "Monitor":
			list = &o.Monitors
		}
		*list = append(*list, r)
	}
}

// Sort sorts the lists.
func (o *Outside) Sort() {
	for _, list := range [][]Row{o.Actions, o.Monitors, o.Receivers} {
		slices.SortFunc(list, compare)
	}
}

// compare compares two rows by their namespaces and names.
func compare(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Base().Namespace, b.Base().Namespace), cmp.Compare(a.Base().Name, b.Base().Name))
}

// NewRow returns the state of an object that pequod-actions executes, with what lists have or with
// everything that is shown of one.
func NewRow(obj *unstructured.Unstructured, detailed bool) (Row, error) {
	decode := func(into any) error { return runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into) }
	switch obj.GetKind() {
	case "Action":
		var a v1alpha1.Action
		err := decode(&a)
		return newAction(&a, detailed), err
	case "Monitor":
		var m v1alpha1.Monitor
		err := decode(&m)
		return newMonitor(&m, detailed), err
	}
	var r v1alpha1.Receiver
	err := decode(&r)
	return newReceiver(&r, detailed), err
}

func newAction(a *v1alpha1.Action, detailed bool) Action {
	state := Action{
		Summary: summarize(a, a.Status.ObservedGeneration, a.Status.Conditions),
		Phase:   a.Status.Phase, NextAttemptAt: a.Status.NextAttemptAt, LastCheck: a.Status.LastCheck,
	}
	if run := a.Status.Run; run != nil {
		state.Attempt, state.URL = run.Attempt, run.URL
	}
	if detailed {
		state.ActionDetail = detailAction(a)
	}
	return state
}

func newMonitor(m *v1alpha1.Monitor, detailed bool) Monitor {
	state := Monitor{
		Summary: summarize(m, m.Status.ObservedGeneration, m.Status.Conditions),
		Targets: m.Status.TargetCount, ChangedAt: m.Status.ChangedAt,
	}
	for _, t := range m.Status.Targets {
		if !t.Reachable {
			state.Unreachable = append(state.Unreachable, Target{Name: t.Name, Message: t.Message})
		}
	}
	for _, r := range m.Status.Rules {
		state.Rules = append(state.Rules, Rule{Name: r.Name, Holds: r.Holds, Tripped: r.Tripped, Fired: r.Fired, LastResult: r.LastResult})
	}
	if detailed {
		state.MonitorDetail = detailMonitor(m)
	}
	return state
}

func newReceiver(r *v1alpha1.Receiver, detailed bool) Receiver {
	state := Receiver{
		Summary: summarize(r, r.Status.ObservedGeneration, r.Status.Conditions),
		Source:  r.Spec.Source.Name(), DeadLetters: r.Status.DeadLetters,
	}
	if detailed {
		state.ReceiverDetail = detailReceiver(r)
	}
	return state
}

// notObserved is the reason of an object that pequod-actions hasn't seen.
const notObserved = "NotObserved"

// summarize returns the summary of an object.
func summarize(obj metav1.Object, observed int64, conditions []metav1.Condition) Summary {
	s := Summary{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if observed < obj.GetGeneration() {
		s.Reason, s.Message = notObserved, "pequod-actions hasn't seen it yet"
		if observed > 0 {
			s.Message = "pequod-actions hasn't seen its last change yet"
		}
		return s
	}
	if c := meta.FindStatusCondition(conditions, "Ready"); c != nil {
		s.Ready, s.Reason, s.Message = c.Status == metav1.ConditionTrue, c.Reason, c.Message
	}
	return s
}
