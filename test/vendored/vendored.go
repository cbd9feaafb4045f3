// Package vendored gives tests and benchmarks a CUE module with the types of
// Kubernetes in cue.mod/gen, as authors get them by `cue get go`. The types are those
// of this module's own dependencies, so that no network is needed.
package vendored

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// embedded matches the field that CUE v0.17 writes for an embedded struct, such as
// TypeMeta: since Kubernetes 1.37 the tags of these in Go have no "inline". No field in
// JSON begins with a capital.
var embedded = regexp.MustCompile(`(?m)^(\t+)[A-Z]\w*\??: ((\w+\.)?#\w+)( @protobuf\(.*\))?$`)

// Kubernetes generates the types of packages of k8s.io/api, such as "apps/v1", and of
// those that they import, in the CUE module of dir. cue is the program, and root the
// directory of this Go module. It takes some seconds.
func Kubernetes(ctx context.Context, cue, root, dir string, packages ...string) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	args := []string{"get", "go"}
	for _, pkg := range packages {
		args = append(args, "k8s.io/api/"+pkg)
	}
	get := exec.CommandContext(ctx, cue, args...)
	get.Dir = dir
	get.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := get.CombinedOutput(); err != nil {
		return fmt.Errorf("cue get go: %w\n%s", err, out)
	}
	api := filepath.Join(dir, "cue.mod", "gen", "k8s.io", "api")
	return filepath.WalkDir(api, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, embedded.ReplaceAll(data, []byte("$1$2")), 0o600)
	})
}
