// Package actions is the root of the packages of pequod-actions, which executes Actions: runs
// outside of the cluster.
//
//   - Package runs is the pure state machine of one Action.
//   - Package executor is the interface of what runs, with a folder for each executor.
//   - Package egress is the only HTTP client, identity reads Secrets, and expression
//     evaluates CEL.
//   - Package action is the controller.
//   - Package rules is the pure state machine of a rule about observations. No controller
//     uses it yet.
//
// Non-goals: the packages know no CUE, and nothing about graphs.
package actions
