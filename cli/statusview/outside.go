package statusview

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Outside is the state of what pequod-actions executes. Lists are sorted by namespace and name.
type Outside struct {
	Actions   []Action   `json:"actions,omitempty"`
	Monitors  []Monitor  `json:"monitors,omitempty"`
	Receivers []Receiver `json:"receivers,omitempty"`
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

// Empty reports whether there is nothing.
func (o *Outside) Empty() bool { return len(o.Actions)+len(o.Monitors)+len(o.Receivers) == 0 }

// Ready reports whether everything is ready.
func (o *Outside) Ready() bool {
	return !slices.ContainsFunc(o.summaries(), func(s Summary) bool { return !s.Ready })
}

// namespaces returns the namespaces of the objects.
func (o *Outside) namespaces() map[string]bool {
	all := map[string]bool{}
	for _, s := range o.summaries() {
		all[s.Namespace] = true
	}
	return all
}

// Without returns the lists without the objects that another one has.
func (o *Outside) Without(other Outside) Outside {
	return Outside{
		Actions:   slices.DeleteFunc(slices.Clone(o.Actions), func(a Action) bool { return contains(other.Actions, a) }),
		Monitors:  slices.DeleteFunc(slices.Clone(o.Monitors), func(m Monitor) bool { return contains(other.Monitors, m) }),
		Receivers: slices.DeleteFunc(slices.Clone(o.Receivers), func(r Receiver) bool { return contains(other.Receivers, r) }),
	}
}

// contains reports whether a list has an object of the same name.
func contains[T identified](all []T, one T) bool {
	return slices.ContainsFunc(all, func(t T) bool { return compare(t, one) == 0 })
}

// Add adds the objects of another one.
func (o *Outside) Add(other Outside) {
	o.Actions = append(o.Actions, other.Actions...)
	o.Monitors = append(o.Monitors, other.Monitors...)
	o.Receivers = append(o.Receivers, other.Receivers...)
}

// summaries returns those of all objects.
func (o *Outside) summaries() (all []Summary) {
	for _, a := range o.Actions {
		all = append(all, a.Summary)
	}
	for _, m := range o.Monitors {
		all = append(all, m.Summary)
	}
	for _, r := range o.Receivers {
		all = append(all, r.Summary)
	}
	return all
}

// Sort sorts the lists.
func (o *Outside) Sort() {
	slices.SortFunc(o.Actions, compare)
	slices.SortFunc(o.Monitors, compare)
	slices.SortFunc(o.Receivers, compare)
}

// identified is an object with a name.
type identified interface {
	id() (namespace, name string)
}

// compare compares two objects by their namespaces and names.
func compare[T identified](a, b T) int {
	namespace, name := a.id()
	otherNamespace, otherName := b.id()
	return cmp.Or(cmp.Compare(namespace, otherNamespace), cmp.Compare(name, otherName))
}

func (s Summary) id() (namespace, name string) { return s.Namespace, s.Name }

// NewAction returns the state of an Action.
func NewAction(a *v1alpha1.Action) Action {
	state := Action{
		Summary: summarize(a, a.Status.ObservedGeneration, a.Status.Conditions),
		Phase:   a.Status.Phase, NextAttemptAt: a.Status.NextAttemptAt, LastCheck: a.Status.LastCheck,
	}
	if run := a.Status.Run; run != nil {
		state.Attempt, state.URL = run.Attempt, run.URL
	}
	return state
}

// NewMonitor returns the state of a Monitor.
func NewMonitor(m *v1alpha1.Monitor) Monitor {
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
	return state
}

// NewReceiver returns the state of a Receiver.
func NewReceiver(r *v1alpha1.Receiver) Receiver {
	return Receiver{
		Summary: summarize(r, r.Status.ObservedGeneration, r.Status.Conditions),
		Source:  r.Spec.Source.Name(), DeadLetters: r.Status.DeadLetters,
	}
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
