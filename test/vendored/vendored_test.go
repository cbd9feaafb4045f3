package vendored_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cuecmd "cuelang.org/go/cmd/cue/cmd"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/pequod-io/pequod/cli"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/vendored"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"cue":    func() { os.Exit(cuecmd.Main()) },
		"pequod": func() { os.Exit(cli.Main()) },
	})
}

// TestSpecs generates CRDs from the specs of Kubernetes' own kinds and creates real
// documents of these kinds on a real API server: as the kind itself, and with their
// spec as an instance. Both have to accept the good documents and reject the bad
// ones. Rendering has the same verdict on all of them.
func TestSpecs(t *testing.T) {
	c := harness.Start(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := vendored.Specs(t.Context(), "cue", root, dir); err != nil {
		t.Fatal(err)
	}
	for _, k := range vendored.Kinds {
		t.Run(k.Kind, func(t *testing.T) {
			name := k.Name()
			crd, err := pequod(t, dir, "crd", "generate", "-p", "./"+name)
			if err != nil {
				t.Fatal(err)
			}
			c.Apply(t, crd)
			t.Cleanup(func() { remove(t, c, crd) })
			archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			verdicts := map[bool]int{}
			for _, f := range archive.Files {
				good := strings.HasPrefix(f.Name, "good")
				verdicts[good]++
				t.Run(f.Name, func(t *testing.T) { check(t, c, dir, name, k.Kind, string(f.Data), good) })
			}
			if verdicts[true] < 2 || verdicts[false] < 2 {
				t.Errorf("%d good documents and %d bad ones, want two of each", verdicts[true], verdicts[false])
			}
		})
	}
}

// check compares the verdicts on one document.
func check(t *testing.T, c *harness.Cluster, dir, name, kind, document string, good bool) {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		t.Fatal(err)
	}
	instance := map[string]any{
		"apiVersion": "pequod.io/v1alpha1",
		"kind":       "Typed" + kind,
		"metadata":   map[string]any{"name": "a", "namespace": c.Namespace},
		"spec":       object["spec"],
	}
	data, err := json.Marshal(instance)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "instance.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, rendered := pequod(t, dir, "render", "-p", "./"+name, "-f", file)
	for _, verdict := range []struct {
		of  string
		err error
	}{
		{"the API server on the kind itself", create(t, c, object)},
		{"the API server on the instance", create(t, c, instance)},
		{"rendering", rendered},
	} {
		switch {
		case good && verdict.err != nil:
			t.Errorf("%s: %v", verdict.of, verdict.err)
		case !good && verdict.err == nil:
			t.Errorf("%s: accepted", verdict.of)
		case !good:
			t.Logf("%s: %v", verdict.of, verdict.err)
		}
	}
}

// create has the API server validate an object strictly, without storing it.
func create(t *testing.T, c *harness.Cluster, object map[string]any) error {
	t.Helper()
	u := &unstructured.Unstructured{Object: object}
	u.SetName("a")
	client := c.Await(t, u.GetAPIVersion(), u.GetKind(), c.Namespace)
	_, err := client.Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// remove deletes a CRD when the test has ended.
func remove(t *testing.T, c *harness.Cluster, crd string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(crd), &object.Object); err != nil {
		t.Fatal(err)
	}
	client, err := c.Resource(object.GetAPIVersion(), object.GetKind(), "")
	if err == nil {
		err = client.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
	}
	if err != nil {
		t.Error(err)
	}
}

// pequod runs a command in dir. Its error has what the command reported.
func pequod(t *testing.T, dir string, args ...string) (stdout string, err error) {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "pequod", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("pequod %s: %w: %s", args[0], err, stderr.String())
	}
	return out.String(), nil
}
