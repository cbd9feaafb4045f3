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

// TestWebhooks holds that --check-authors and --webhooks install what kustomize makes of
// config/applier and config/default with their components, and that these are excluded
// otherwise.
func TestWebhooks(t *testing.T) {
	t.Run("gitops", func(t *testing.T) { testWebhooks(t, modeGitOps, "applier", "webhook") })
	t.Run("operator", func(t *testing.T) { testWebhooks(t, modeOperator, "default", filepath.Join("webhook", "manager")) })
}

func testWebhooks(t *testing.T, name, base, component string) {
	t.Helper()
	all := func(*unstructured.Unstructured) bool { return true }
	with, err := variant{mode: modeOf(name), webhooks: true}.manifests(all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kustomized(t, base, component), named(with)); diff != "" {
		t.Errorf("objects (-kustomize +install):\n%s", diff)
	}
	without, err := variant{mode: modeOf(name)}.manifests(all)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(without.objects), len(with.objects)-6; got != want || len(without.excluded) != len(with.excluded)+6 {
		t.Errorf("without: %d objects, want %d; %d excluded, %d with webhooks", got, want, len(without.excluded), len(with.excluded))
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
