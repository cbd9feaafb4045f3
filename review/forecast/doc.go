// Package forecast tells what a change of objects does in a cluster: which Pods
// restart, what the API server refuses, and which data or addresses are lost.
//
// [Of] is the entry point. It takes a diff and both sides of it, because the effect of
// a change depends on other objects: on the Deployments that read a ConfigMap, on the
// autoscaler of a Deployment, on the quota of a namespace. It sends no request.
//
// The rules are in rules.json, which is generated: test/consequences changes fields on
// a control plane and records the effects, and every rule names the measurements that
// show it. A rule whose effect can't be measured there names its source in Kubernetes.
// docs/consequences.md lists all rules.
//
// The files:
//
//	consequence.go         the result
//	forecast.go            from a diff to consequences
//	warn.go                consequences as warnings of a diff
//	rule.go                the rules; condition.go has their conditions by name
//	leaves.go, default.go  the single fields of a change, and their defaults
//	tree.go, pods.go, autoscaler.go, reading.go
//	                       the objects of one side, the Pods of workloads, and what they read
//	subject.go             the change that a condition is about
//	rollout.go, readers.go, quota.go, service.go, definition.go
//	                       conditions, by their subject
//
// A kind without rules has the effect [Unknown]: its controller decides.
package forecast
