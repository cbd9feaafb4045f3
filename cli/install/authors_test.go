package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// TestCheckAuthors holds that --check-authors installs what kustomize makes of
// config/applier with the component config/webhook, and that it is excluded otherwise.
func TestCheckAuthors(t *testing.T) {
	all := func(*unstructured.Unstructured) bool { return true }
	with, err := variant{mode: modeOf(modeGitOps), checksAuthors: true}.manifests(all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kustomized(t, "applier", "webhook"), named(with)); diff != "" {
		t.Errorf("objects (-kustomize +install):\n%s", diff)
	}
	without, err := variant{mode: modeOf(modeGitOps)}.manifests(all)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(without.objects)+len(without.excluded), len(with.objects); got != want || len(without.excluded) != 6 {
		t.Errorf("without: %d objects, %d excluded; want %d", got, len(without.excluded), want)
	}
}

// named returns the objects of an installation by their names.
func named(m *installation) map[string]any {
	all := map[string]any{}
	for _, obj := range m.objects {
		all[kubectlName(obj)] = obj.Object
	}
	return all
}

// kustomized returns the objects, by their names, that kustomize makes of a directory of config
// with a component.
func kustomized(t *testing.T, base, component string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	relative := func(component string) string {
		target, err := filepath.Abs(filepath.Join("..", "..", "config", component))
		if err == nil {
			target, err = filepath.Rel(dir, target)
		}
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	text := "resources: [" + relative(base) + "]\ncomponents: [" + relative(component) + "]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, r := range resources.Resources() {
		obj := &unstructured.Unstructured{}
		text, err := r.AsYAML()
		if err == nil {
			text, err = yaml.YAMLToJSON(text)
		}
		if err == nil {
			err = obj.UnmarshalJSON(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		all[kubectlName(obj)] = obj.Object
	}
	return all
}
