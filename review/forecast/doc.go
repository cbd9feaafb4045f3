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
//	rule.go, condition.go  the rules and the conditions under which they hold
//	leaves.go              the single fields of a change
//	tree.go, pods.go       the objects of one side, and the Pods of workloads
//	readers.go             the workloads that read a ConfigMap or Secret
//	autoscaler.go, quota.go, storage.go
//	                       conditions that concern several objects
//
// A kind without rules has the effect [Unknown]: its controller decides.
package forecast
