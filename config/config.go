// Package config holds what is installed in a cluster: kustomizations for
// `kubectl apply -k`, and the built forms of config/applier, config/default and config/actions, so
// that `pequod install` needs no kustomize. The package is text only; the command line applies
// it.
package config

import (
	"bytes"
	"embed"
	"regexp"
	"slices"
)

// Applier has the YAML documents that `kubectl apply -k config/applier` applies.
// `make manifests` writes it.
//
//go:embed applier.yaml
var Applier []byte

// Actions has the YAML documents that `kubectl apply -k config/actions` applies: pequod-actions
// with its CRDs, roles and namespace. `make manifests` writes it.
//
//go:embed actions.yaml
var Actions []byte

//go:embed webhook/*.yaml webhook/manager/*.yaml
var webhook embed.FS

// Webhook returns the YAML documents that the component config/webhook adds to those of
// Applier, in the order in which they are applied. It also changes objects of Applier.
func Webhook() []byte { return component("webhook") }

// ManagerWebhook is [Webhook] for the component config/webhook/manager and [Operator].
func ManagerWebhook() []byte { return component("webhook/manager") }

// component returns the documents of a component in config/webhook.
func component(dir string) []byte {
	accounts := regexp.MustCompile("(?m)^- kind: ServiceAccount\n  name: .*\n")
	var all [][]byte
	for _, name := range []string{"role", "service", "configuration"} {
		text, err := webhook.ReadFile(dir + "/" + name + ".yaml")
		if err != nil {
			panic(err) // can't happen: the file is embedded
		}
		// The files leave it to kustomize to set the namespace of an account.
		all = append(all, accounts.ReplaceAll(text, []byte("$0  namespace: pequod-system\n")))
	}
	return bytes.Join(all, []byte("---\n"))
}

// Operator has the YAML documents that `kubectl apply -k config/default` applies: the
// manager with its CRDs, roles and namespace. `make manifests` writes it.
//
//go:embed operator.yaml
var Operator []byte

// ConstrainedManager has the YAML document that the component config/default/components/constrained
// adds to those of Operator. It also changes objects of Operator.
//
//go:embed default/components/constrained/role.yaml
var ConstrainedManager []byte

// GraphPolicy has the policy that keeps users from making graphs of pequod-manager, and its
// binding. pequod-manager compares them with those of the cluster.
//
//go:embed rbac/graph_policy.yaml
var GraphPolicy []byte

// Grants has the rights that the manager may grant to platforms. It is part of Operator.
//
//go:embed rbac/grants_role.yaml
var Grants []byte

// Definitions returns the CRDs of Pequod's own kinds, a YAML document each.
func Definitions() [][]byte {
	docs := append(bytes.Split(Operator, []byte("\n---\n")), bytes.Split(Actions, []byte("\n---\n"))...)
	return slices.DeleteFunc(docs, func(doc []byte) bool {
		return !bytes.Contains(doc, []byte("\nkind: CustomResourceDefinition\n"))
	})
}
