package vendored

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Kind is a kind of Kubernetes whose spec is the #Input of a platform.
type Kind struct {
	// Package has the type in Go, below k8s.io/api.
	Package          string
	APIVersion, Kind string
}

// Name is the name of the platform's directory.
func (k Kind) Name() string { return strings.ToLower(k.Kind) }

// Kinds are the kinds of Specs.
var Kinds = []Kind{
	{"core/v1", "v1", "Pod"},
	{"apps/v1", "apps/v1", "Deployment"},
	{"apps/v1", "apps/v1", "StatefulSet"},
	{"batch/v1", "batch/v1", "CronJob"},
	{"networking/v1", "networking.k8s.io/v1", "Ingress"},
	{"autoscaling/v2", "autoscaling/v2", "HorizontalPodAutoscaler"},
	{"core/v1", "v1", "Service"},
}

// platform renders an object of the kind whose spec it takes. Its arguments are the
// package, the package of the kind in Go, the kind and its API version.
const platform = `package %[1]s

import types "k8s.io/api/%[2]s"

#Platform: kind: "Typed%[3]s"
#Input: types.#%[3]sSpec
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: object: resource: types.#%[3]s & {
		apiVersion: %[4]q
		kind:       %[3]q
		metadata: name: input.metadata.name
		spec: input.spec
	}
}
`

// Specs writes a CUE module to the empty directory dir, with a platform of kind
// TypedPod in the directory pod, and so on for each of Kinds. The other arguments are
// those of [Kubernetes].
func Specs(ctx context.Context, cue, root, dir string) error {
	files := map[string]string{"cue.mod/module.cue": "module: \"example.com/specs@v0\"\nlanguage: version: \"v0.9.0\"\n"}
	for _, k := range Kinds {
		files[k.Name()+"/module.cue"] = fmt.Sprintf(platform, k.Name(), k.Package, k.Kind, k.APIVersion)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return Kubernetes(ctx, cue, root, dir, "apps/v1", "autoscaling/v2", "batch/v1", "core/v1", "networking/v1")
}
