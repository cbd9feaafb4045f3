// Package config holds what is installed in a cluster: kustomizations for
// kubectl apply -k, and in this package what config/applier comes to, so that
// pequod install needs no kustomize.
//
// It is text, and nothing more: package cli applies it.
package config

import _ "embed"

// Applier is what kubectl apply -k config/applier applies, as YAML documents.
// `make manifests` writes it.
//
//go:embed applier.yaml
var Applier []byte
