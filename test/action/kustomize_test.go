package action

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestKustomize builds kustomizations with pequod fn, as kustomize build
// --enable-alpha-plugins --enable-exec does: an instance as a generator, and a transformer
// of all instances among the resources.
func TestKustomize(t *testing.T) {
	dir := t.TempDir()
	pequodIn(t, filepath.Join(dir, "bin"))
	instance := "apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: NAME, namespace: shopANNOTATIONS}\nspec: {image: nginx, port: 8080}\n"
	annotation := ", annotations: {config.kubernetes.io/function: 'exec: {path: ../bin/pequod, args: [fn, --format=resources]}'}"
	for file, text := range map[string]string{
		"generate/app.yaml":            strings.NewReplacer("NAME", "web", "ANNOTATIONS", annotation).Replace(instance),
		"generate/kustomization.yaml":  "generators: [app.yaml]\nnamePrefix: eu-\nimages: [{name: nginx, newTag: '2'}]\n",
		"transform/app.yaml":           strings.NewReplacer("NAME", "web", "ANNOTATIONS", "").Replace(instance),
		"transform/api.yaml":           strings.NewReplacer("NAME", "api", "ANNOTATIONS", "").Replace(instance),
		"transform/other.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
		"transform/fn.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pequod" + annotation + "}\n",
		"transform/kustomization.yaml": "resources: [app.yaml, other.yaml, api.yaml]\ntransformers: [fn.yaml]\n",
		"wrong/app.yaml":               strings.NewReplacer("NAME", "web", "ANNOTATIONS", annotation, "8080", "70000").Replace(instance),
		"wrong/kustomization.yaml":     "generators: [app.yaml]\n",
	} {
		writeFile(t, filepath.Join(dir, file), text, 0o644)
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	options.PluginConfig.FnpLoadingOptions.EnableExec = true
	build := func(name string) (string, error) {
		objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		out, err := objects.AsYaml()
		return string(out), err
	}
	for name, want := range map[string][]string{
		"generate":  {"kind: Deployment\n", "kind: Service\n", "  name: eu-web\n", "image: nginx:2\n"},
		"transform": {"kind: Deployment\n", "  name: api\n", "  name: other\n"},
	} {
		out, err := build(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range append(want, "kind: ") {
			if !strings.Contains(out, text) {
				t.Errorf("%s has no %q:\n%s", name, text, out)
			}
		}
		if strings.Contains(out, "kind: WebService") || strings.Contains(out, "config.kubernetes.io/function") {
			t.Errorf("%s still has an instance:\n%s", name, out)
		}
	}
	if out, err := build("wrong"); err == nil {
		t.Errorf("a wrong instance builds:\n%s", out)
	}
}
