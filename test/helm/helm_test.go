// Package helm tests the chart in config/chart with Helm itself, which is a tool of the
// module in directory tool.
package helm

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/cli"
)

const chart = "../../config/chart"

// asPequod makes the test binary the command line.
const asPequod = "PEQUOD_TEST_AS_PEQUOD"

func TestMain(m *testing.M) {
	if os.Getenv(asPequod) != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// binary is the path of Helm in the go command's cache. Compiling it takes minutes the first
// time.
var binary = sync.OnceValues(func() (string, error) {
	find := exec.Command("go", "tool", "-n", "helm")
	find.Dir, find.Stderr = "tool", os.Stderr
	out, err := find.Output()
	return strings.TrimSpace(string(out)), err
})

// helm runs Helm and returns its stdout, or the error with stderr.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatalf("building Helm: %v", err)
	}
	cmd := exec.Command(path, args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); err != nil {
		err = &failure{err, stderr.String()}
	}
	return stdout.String(), err
}

// failure is the error of a process with what it printed.
type failure struct {
	error
	stderr string
}

// Error implements error.
func (f *failure) Error() string { return f.error.Error() + "\n" + f.stderr }

// render returns the objects of the chart with values such as "mode=operator".
func render(t *testing.T, namespace string, values ...string) (map[string]*unstructured.Unstructured, error) {
	t.Helper()
	args := []string{"template", "pequod", chart, "--namespace=" + namespace, "--kube-version=1.36.0"}
	for _, v := range values {
		args = append(args, "--set-json="+v)
	}
	out, err := helm(t, args...)
	if err != nil {
		return nil, err
	}
	return objects(t, out), nil
}

// objects returns the objects of a stream of YAML documents, by kind, namespace and name.
func objects(t *testing.T, stream string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for doc := range strings.SplitSeq("\n"+stream, "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(doc), &obj.Object); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if len(obj.Object) == 0 {
			continue
		}
		id := obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
		if all[id] != nil {
			t.Errorf("%s is there twice", id)
		}
		all[id] = obj
	}
	return all
}
