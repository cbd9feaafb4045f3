package action

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// plugin is the configuration of a plugin, as Argo CD's cmp-server reads it.
type plugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Discover struct{ FileName string }
		Generate struct{ Command, Args []string }
		// Parameters are those that Argo CD shows.
		Parameters struct {
			Static []struct{ Name, Title, Tooltip, String string }
		}
	}
}

// TestArgoPlugin calls the plugin that docs/gitops.md shows as the cmp-server does: it
// looks for the file in the application's directory, and runs the command there with the
// application in the environment. stdout is the manifests.
func TestArgoPlugin(t *testing.T) {
	files := listings(t, "docs/gitops.md")
	var p plugin
	if err := yaml.UnmarshalStrict([]byte(files["clusters/argocd-plugin.yaml"]), &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "argoproj.io/v1alpha1" || p.Kind != "ConfigManagementPlugin" || p.Metadata.Name == "" {
		t.Errorf("%+v", p)
	}
	command := append(p.Spec.Generate.Command, p.Spec.Generate.Args...)
	for name, test := range map[string]struct {
		settings, parameter, port string
		code                      int
		want                      []string
	}{
		"graphs":            {settings: settings, port: "8080", want: []string{"ResourceGraph preview"}},
		"plain manifests":   {settings: settings, port: "8080", parameter: "resources", want: []string{"Deployment preview", "Service preview"}},
		"committed output":  {settings: settings + "output-dir: graphs\nprune: true\n", port: "8080", want: []string{"ResourceGraph preview"}},
		"wrong instance":    {settings: settings, port: "70000", code: 1},
		"hostile parameter": {settings: settings, port: "8080", parameter: "$(touch pwned)\"; touch pwned; \"", code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, "{}")
			dir := checkout(t, j, map[string]string{
				"pequod.yaml":   test.settings,
				"apps/web.yaml": strings.NewReplacer("8080", test.port, ", namespace: shop", "").Replace(webYAML),
			})
			if found, err := filepath.Glob(filepath.Join(dir, p.Spec.Discover.FileName)); err != nil || len(found) != 1 {
				t.Fatalf("discovered %v, %v", found, err)
			}
			if found, _ := filepath.Glob(filepath.Join(dir, "apps", p.Spec.Discover.FileName)); len(found) != 0 {
				t.Errorf("discovered %v", found)
			}
			env := append(j.env, "ARGOCD_APP_NAME=shop", "ARGOCD_APP_NAMESPACE=preview", "KUBE_VERSION=1.36.0",
				"ARGOCD_APP_PARAMETERS=[]", "XDG_CACHE_HOME="+j.dir)
			if test.parameter != "" {
				env = append(env, "PARAM_FORMAT="+test.parameter)
			}
			out, code := run(t, dir, env, command[0], command[1:]...)
			if code != test.code {
				t.Fatalf("exit code %d; want %d:\n%s", code, test.code, out)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "pwned")); len(left) > 0 {
				t.Error("the parameter was executed")
			}
			var got []string
			for _, document := range strings.Split(out, "\n---\n") {
				var object struct {
					Kind     string
					Metadata struct{ Namespace string }
				}
				if test.code == 0 {
					if err := yaml.Unmarshal([]byte(document), &object); err != nil {
						t.Fatalf("%v:\n%s", err, out)
					}
					got = append(got, object.Kind+" "+object.Metadata.Namespace)
				}
			}
			if strings.Join(got, ", ") != strings.Join(test.want, ", ") {
				t.Errorf("%v; want %v", got, test.want)
			}
		})
	}
}
