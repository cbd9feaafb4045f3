package review

import (
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review/forecast"
)

// Condition is a condition of --fail-on.
type Condition string

// The conditions.
const (
	// Removals is met if an object is deleted.
	Removals Condition = "removals"
	// DataLoss is met if data or an address is lost.
	DataLoss Condition = "data-loss"
	// Restarts is met if Pods end.
	Restarts Condition = "restarts"
	// Breaking is met if a definition breaks its users, an instance is no longer valid, the
	// API server refuses a change, or a selector no longer matches Pods.
	Breaking Condition = "breaking"
	// Unowned is met if an object stays in the cluster without an owner.
	Unowned Condition = "unowned"
	// Policy is met if the head violates a policy where the base did not.
	Policy Condition = "policy"
)

// Conditions returns all conditions.
func Conditions() []Condition {
	return []Condition{Removals, DataLoss, Restarts, Breaking, Unowned, Policy}
}

// conditionsOf returns the conditions that a danger of a rule meets.
func conditionsOf(rule string) []Condition {
	switch rule {
	case objectdiff.RuleLoss, string(forecast.Lost):
		return []Condition{DataLoss}
	case objectdiff.RuleImmutable, objectdiff.RuleRefused, objectdiff.RuleSelector, string(forecast.Unreachable): // RuleRefused is also an effect
		return []Condition{Breaking}
	case objectdiff.RuleOrphan:
		return []Condition{Unowned}
	case string(forecast.Recreate), string(forecast.Stopped), objectdiff.RuleScale:
		return []Condition{Restarts}
	}
	return nil
}
