package controller

import "github.com/pequod-io/pequod/applier/engine"

// The reasons of graphs that can't be executed until the graph or the cluster is
// changed. They appear in conditions and in metrics, and docs/operations.md
// explains them. The reasons of nodes are those of package engine.
const (
	// reasonInvalid: the graph isn't valid, or can't be stored in its status.
	reasonInvalid = engine.ReasonInvalid
	// reasonNoAccount: the graph names no service account and there is no default.
	reasonNoAccount = "NoServiceAccount"
	// reasonAccountMissing: the service account doesn't exist.
	reasonAccountMissing = "ServiceAccountMissing"
	// reasonAccountRefused: pequod-manager can't be sure that it made the graph itself, so
	// it may not use the account of a Transform.
	reasonAccountRefused = "ServiceAccountRefused"
	// reasonKubeConfigMissing: the Secret of spec.kubeConfig, or its key, doesn't exist.
	reasonKubeConfigMissing = "KubeConfigMissing"
	// reasonKubeConfigRefused: the account may not read the Secret, or the program doesn't
	// execute graphs with spec.kubeConfig.
	reasonKubeConfigRefused = "KubeConfigRefused"
	// reasonKubeConfigInvalid: the Secret has no kubeconfig that may be used.
	reasonKubeConfigInvalid = "KubeConfigInvalid"
	// reasonClusterUnavailable: the other cluster didn't tell which one it is.
	reasonClusterUnavailable = "ClusterUnavailable"
	// reasonClusterChanged: the objects are in another cluster than the one that the
	// kubeconfig leads to.
	reasonClusterChanged = "ClusterChanged"
	// reasonCrossNamespace: an object is outside the graph's namespace, which
	// Options.NoCrossNamespace forbids.
	reasonCrossNamespace = "CrossNamespace"
	// reasonPolicyViolation: a policy reported an error when the graph was rendered.
	reasonPolicyViolation = "PolicyViolation"
	// reasonOverBudget: the graph exceeds a limit of package graph or of its
	// expressions.
	reasonOverBudget = engine.ReasonOverBudget
	// reasonTooLarge: the graph leaves no room for its status.
	reasonTooLarge = "TooLarge"
)
