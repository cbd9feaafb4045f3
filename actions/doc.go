// Package actions is the root of the packages of pequod-actions, which executes Actions, runs
// outside of the cluster, Monitors, polls of applications with reactions, and Receivers, which take
// messages from outside.
//
//   - Package runs is the pure state machine of one Action.
//   - Package executor is the interface of what runs, with a folder for each executor.
//   - Package egress is the only HTTP client, identity reads Secrets, and expression
//     evaluates CEL.
//   - Package action is the controller of Actions.
//   - Package rules is the pure state machine of a rule about observations, verdict that of a
//     Monitor, and query checks GraphQL queries.
//   - Package probe reads the targets of Monitors, reaction does what rules ask for, and
//     monitor is the controller of Monitors.
//   - Package source has the messages of Receivers, with a folder for each source, package effect
//     what they do, and package receiver the controller of Receivers.
//   - Package simulate plays recorded answers to a Monitor.
//
// Non-goals: the packages know no CUE. Of graphs they know nothing but which fields they own.
package actions
