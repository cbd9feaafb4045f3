package settings

import (
	"strings"

	"github.com/spf13/pflag"
)

// repositoryFlags are the flags that the pequod.yaml of a repository may set. They
// select what is read, where in the repository it is written, and how results are
// printed. A flag that is missing here can't be set by a repository, so a new flag
// is refused until a change of this list allows it.
var repositoryFlags = []string{
	// Input.
	"against", "crd", "crds", "filename", "for-each", "namespace", "platform", "policy", "rbac", "recursive", "resource", "selector", "transforms", "validate",
	// Output.
	"annotate", "batches", "coverage", "dir", "format", "impact", "layout", "max-size", "output", "output-dir", "prune",
	// The course of a run, as far as it is harmless.
	"all-namespaces", "by-name", "causes", "crds-only", "default-service-account", "dry-run",
	"eval-memory", "eval-timeout", "export", "strategy", "timeout", "wait", "watch",
}

// pathFlags are the flags that name files. Their values in pequod.yaml are
// relative to the directory of that file, not to the working directory. Values
// from the environment are relative to the working directory, as on the command
// line.
var pathFlags = []string{
	"against", "base-output", "ca-file", "cache-dir", "certificate-authority", "client-certificate", "client-key", "crd", "dir", "filename",
	"for-each", "from-chart", "from-crd", "from-manifests", "history-url-file", "inputs", "key", "kubeconfig", "modeline", "output-dir",
	"platform", "policy", "registry-ca-file", "sign-key", "state", "token-file", "trusted-root",
}

// variableOf returns the name of the environment variable that sets f.
func variableOf(f *pflag.Flag) string {
	return "PEQUOD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}
