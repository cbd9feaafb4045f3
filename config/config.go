// Package config holds what is installed in a cluster: kustomizations for
// `kubectl apply -k`, and the built form of config/applier, so that `pequod
// install` needs no kustomize. The package is text only; the command line applies
// it.
package config

import _ "embed"

// Applier has the YAML documents that `kubectl apply -k config/applier` applies.
// `make manifests` writes it.
//
//go:embed applier.yaml
var Applier []byte

// GraphPolicy has the policy that keeps users from making graphs of pequod-manager, and its
// binding. pequod-manager compares them with those of the cluster.
//
//go:embed rbac/graph_policy.yaml
var GraphPolicy []byte
