package helm

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// TestInstallsTheSame holds that the chart installs the objects that pequod install does, and
// the kustomizations with their components.
func TestInstallsTheSame(t *testing.T) {
	for _, test := range []struct {
		name   string
		want   map[string]*unstructured.Unstructured
		values []string
	}{
		{"gitops", pequod(t), nil},
		{"operator", pequod(t, "--mode=operator"), []string{`mode="operator"`}},
		{"check authors", pequod(t, "--check-authors"), []string{`checkAuthors=true`}},
		{"constrained", pequod(t, "--constrained"), []string{`constrained=true`}},
		{"webhooks", pequod(t, "--mode=operator", "--webhooks"), []string{`mode="operator"`, `webhooks=true`}},
		{"webhooks of a constrained manager", pequod(t, "--mode=operator", "--webhooks", "--constrained"), []string{`mode="operator"`, `webhooks=true`, `constrained=true`}},
		{"cert-manager of the manager", kustomize(t, "resources: [default]", "components: [webhook/manager, certmanager/manager]"), []string{`mode="operator"`, `webhooks=true`, `certManager=true`}},
		{"constrained manager", pequod(t, "--mode=operator", "--constrained"), []string{`mode="operator"`, `constrained=true`}},
		{"constrained, check authors", pequod(t, "--constrained", "--check-authors"), []string{`constrained=true`, `checkAuthors=true`}},
		{"no network policy", pequod(t, "--network-policy=false"), []string{`networkPolicy=false`}},
		{"no network policy of the manager", pequod(t, "--network-policy=false", "--mode=operator"), []string{`networkPolicy=false`, `mode="operator"`}},
		{"image", pequod(t, "--image=registry.example.com/applier:v2"), []string{`image={"repository": "registry.example.com/applier", "tag": "v2"}`}},
		{"cert-manager", kustomize(t, "resources: [applier]", "components: [webhook, certmanager]"), []string{`checkAuthors=true`, `certManager=true`}},
		{"per namespace", kustomize(t, "resources: [applier]", "components: [applier/components/per-namespace]"), []string{`impersonateNamespaces=["kept"]`}},
		{"one namespace", kustomize(t, "resources: [applier]", "components: [applier/components/one-namespace]"), []string{`watchNamespace="kept"`}},
		{"one namespace, check authors, constrained", kustomize(t, "resources: [applier]", "components: [webhook, applier/components/one-namespace, applier/components/constrained]"),
			[]string{`watchNamespace="kept"`, `checkAuthors=true`, `constrained=true`}},
		{"monitoring", kustomize(t, "resources: [applier, prometheus]"), []string{`metrics={"serviceMonitor": true, "rules": true, "dashboard": true}`}},
		{"monitoring of the manager", kustomize(t, "resources: [default, prometheus/manager]"), []string{`mode="operator"`, `metrics={"serviceMonitor": true, "rules": true, "dashboard": true}`}},
		{"actions", pequod(t, "--mode=actions", "--allow-egress=api.github.com,10.0.0.0/8"), []string{`mode="actions"`, `allowEgress=["api.github.com", "10.0.0.0/8"]`}},
		{"image of actions", pequod(t, "--mode=actions", "--image=registry.example.com/actions:v1"), []string{`mode="actions"`, `image={"repository": "registry.example.com/actions", "tag": "v1"}`}},
		{"no network policy of actions", pequod(t, "--mode=actions", "--network-policy=false"), []string{`mode="actions"`, `networkPolicy=false`}},
		{"history", kustomize(t, "resources: [actions]", "components: [actions/components/history]"), []string{`mode="actions"`, `history=true`}},
		{"notifications", kustomize(t, "resources: [actions]", "components: [actions/components/notifications]"), []string{`mode="actions"`, `notifications=true`}},
		{"monitoring of actions", kustomize(t, "resources: [actions, prometheus/actions]"), []string{`mode="actions"`, `metrics={"serviceMonitor": true, "rules": true, "dashboard": true}`}},
		{"shards", kustomize(t, "resources: [applier]", "components: [applier/components/shards]"), []string{`shards=8`, `replicas=2`}},
		{"shards, check authors", kustomize(t, "resources: [applier]", "components: [applier/components/shards, webhook]"), []string{`shards=8`, `replicas=2`, `checkAuthors=true`}},
		{"disruption budget", kustomize(t, "resources: [applier]", "components: [disruption]"), []string{`podDisruptionBudget=true`}},
		{"disruption budget of the manager", kustomize(t, "resources: [default]", "components: [disruption/manager]"), []string{`mode="operator"`, `podDisruptionBudget=true`}},
		{"disruption budget of actions", kustomize(t, "resources: [actions]", "components: [disruption/actions]"), []string{`mode="actions"`, `podDisruptionBudget=true`}},
		{"namespace of actions", kustomize(t, "resources: [actions]", "components: [actions/components/history, disruption/actions]", elsewhere), []string{`mode="actions"`, `history=true`, `podDisruptionBudget=true`}},
		{"namespace", kustomize(t, "resources: [applier]", "components: [webhook, certmanager]", elsewhere), []string{`checkAuthors=true`, `certManager=true`}},
		{"namespace of the manager", kustomize(t, "resources: [default]", elsewhere), []string{`mode="operator"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			namespace := "pequod-system"
			if strings.HasPrefix(test.name, "namespace") {
				namespace = "elsewhere"
			}
			got, err := render(t, namespace, test.values...)
			if err != nil {
				t.Fatal(err)
			}
			if test.want["Namespace /"+namespace] == nil {
				t.Error("no namespace in the kustomization")
			}
			delete(test.want, "Namespace /"+namespace) // helm install --create-namespace
			for id, obj := range got {
				if obj.GetNamespace() == "kept" { // bound in a namespace, see TestBindings
					delete(got, id)
				}
				if obj.GetKind() == "Deployment" {
					dropArgs(obj, "--namespace=", "--leader-election-id=") // see TestValues
				}
				if obj.GetKind() == "CustomResourceDefinition" {
					annotations := obj.GetAnnotations()
					if annotations["helm.sh/resource-policy"] != "keep" {
						t.Errorf("%s is deleted with the release", id)
					}
					delete(annotations, "helm.sh/resource-policy")
					obj.SetAnnotations(annotations)
				}
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(test.want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("objects (-kustomization +chart):\n%s", diff)
			}
			for id, obj := range got {
				if want := test.want[id]; want != nil {
					if diff := cmp.Diff(want, obj); diff != "" {
						t.Errorf("%s (-kustomization +chart):\n%s", id, diff)
					}
				}
			}
		})
	}
}

// dropArgs removes arguments from the container of a Deployment.
func dropArgs(deployment *unstructured.Unstructured, prefixes ...string) {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	container := containers[0].(map[string]any)
	container["args"] = slices.DeleteFunc(container["args"].([]any), func(arg any) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(arg.(string), prefix) })
	})
	_ = unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers") // the path exists
}

// pequod returns the objects of pequod install with flags.
func pequod(t *testing.T, flags ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"install", "--export"}, flags...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), asPequod+"=1"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, string(out))
}

// kustomize returns the objects of a kustomization in which directories of config are
// relative.
func kustomize(t *testing.T, lines ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	config, err := filepath.Abs("../../config")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n") + "\n"
	for _, separator := range []string{"[", ", "} {
		for _, name := range []string{"applier", "default", "actions", "prometheus", "webhook", "certmanager", "disruption"} {
			text = strings.ReplaceAll(text, separator+name, separator+filepath.ToSlash(relative)+"/"+name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	// What kustomize doesn't move: an annotation and a DNS name of cert-manager.
	if slices.Contains(lines, elsewhere) {
		out = bytes.ReplaceAll(out, []byte("pequod-system"), []byte("elsewhere"))
	}
	return objects(t, string(out))
}

// elsewhere moves a kustomization to another namespace.
const elsewhere = "namespace: elsewhere"

// TestBindings checks the roles that the chart binds in namespaces, to the account of the
// program and with roles that exist.
func TestBindings(t *testing.T) {
	for _, test := range []struct {
		values  []string
		account string
		want    []string
	}{
		{[]string{`impersonateNamespaces=["a", "b"]`}, "pequod-applier",
			[]string{"a/pequod-applier-impersonate", "b/pequod-applier-impersonate"}},
		{[]string{`watchNamespace="elsewhere"`}, "pequod-applier", // the namespace of the release
			[]string{"elsewhere/pequod-applier", "elsewhere/pequod-applier-watch"}},
		{[]string{`mode="operator"`, `impersonateNamespaces=["a"]`, `transformNamespaces=["b", "elsewhere"]`}, "pequod-controller-manager",
			[]string{"a/pequod-manager-impersonate", "b/pequod-manager-sources"}},
	} {
		got, err := render(t, "elsewhere", test.values...)
		if err != nil {
			t.Fatal(err)
		}
		var bound []string
		for _, obj := range got {
			role, _, _ := unstructured.NestedString(obj.Object, "roleRef", "name")
			kind, _, _ := unstructured.NestedString(obj.Object, "roleRef", "kind")
			if obj.GetKind() != "RoleBinding" || kind != "ClusterRole" || role == "pequod-manager-sources" && obj.GetNamespace() == "elsewhere" {
				continue
			}
			bound = append(bound, obj.GetNamespace()+"/"+role)
			if got["ClusterRole /"+role] == nil {
				t.Errorf("%v: there is no role %s", test.values, role)
			}
			want := []any{map[string]any{"kind": "ServiceAccount", "name": test.account, "namespace": "elsewhere"}}
			if diff := cmp.Diff(want, obj.Object["subjects"]); diff != "" || got["ServiceAccount elsewhere/"+test.account] == nil {
				t.Errorf("%v: subjects (-want +got):\n%s", test.values, diff)
			}
		}
		slices.Sort(bound)
		if diff := cmp.Diff(test.want, bound); diff != "" {
			t.Errorf("%v: bindings (-want +got):\n%s", test.values, diff)
		}
	}
}

// effects has, for each value of values.yaml, how it is set and what that adds to a manifest.
var effects = map[string][2]string{
	"shared":                    {`false`, ""}, // see TestShared
	"mode":                      {`"operator"`, "name: pequod-controller-manager"},
	"image":                     {`{"digest": "sha256:` + strings.Repeat("0", 64) + `"}`, "image: ghcr.io/pequod-io/pequod-applier@sha256:000"},
	"imagePullSecrets":          {`[{"name": "pull"}]`, "imagePullSecrets:\n      - name: pull\n"},
	"replicas":                  {`2`, "replicas: 2\n"},
	"shards":                    {`8`, "- --leader-elect\n        - --shards=8\n"},
	"resources":                 {`{"limits": {"memory": "1Gi"}}`, "resources:\n          limits:\n            memory: 1Gi\n"},
	"goMemLimit":                {`"820MiB"`, "value: 820MiB\n"},
	"checkAuthors":              {`true`, "- --webhooks\n"},
	"webhooks":                  {`true`, "- --webhooks\n"},
	"certManager":               {`true`, "--webhook-cert-path=/certificate\n"},
	"constrained":               {`true`, ""}, // it only takes rights away
	"impersonateNamespaces":     {`["a"]`, "namespace: a\n"},
	"watchNamespace":            {`"a"`, "- --namespace=a\n        - --leader-election-id=pequod-applier\n"},
	"watchLabelSelector":        {`"!sharding.fluxcd.io/key"`, "- --watch-label-selector=!sharding.fluxcd.io/key\n        - --leader-election-id=pequod-applier\n"},
	"transformNamespaces":       {`["a"]`, "- --transform-namespaces=pequod-system,a\n"},
	"allowEgress":               {`["api.github.com", "10.0.0.0/8"]`, "- --leader-elect\n        - --allow-egress=api.github.com,10.0.0.0/8\n"},
	"monitorNetworks":           {`["10.244.0.0/16"]`, "- --monitor-networks=10.244.0.0/16\n"},
	"history":                   {`true`, "- --history-url-file=/etc/pequod/history/url\n"},
	"notifications":             {`true`, "name: pequod-actions-notifications\n"},
	"networkPolicy":             {`false`, ""},
	"podDisruptionBudget":       {`true`, "kind: PodDisruptionBudget\n"},
	"metrics":                   {`{"serviceMonitor": true, "labels": {"release": "prometheus"}}`, "labels:\n    release: prometheus\n"},
	"serviceAccount":            {`{"annotations": {"a": "b"}}`, "annotations:\n    a: b\n"},
	"extraArgs":                 {`["--concurrent=8"]`, "- --leader-elect\n        - --concurrent=8\n"},
	"extraEnv":                  {`[{"name": "A", "value": "b"}]`, "        - name: A\n          value: b\n"},
	"extraVolumes":              {`[{"name": "a", "emptyDir": {}}]`, "      volumes:\n      - emptyDir: {}\n        name: a\n"},
	"extraVolumeMounts":         {`[{"name": "a", "mountPath": "/a"}]`, "        volumeMounts:\n        - mountPath: /a\n          name: a\n"},
	"podAnnotations":            {`{"a": "b"}`, "        a: b\n"},
	"podLabels":                 {`{"a": "b"}`, "        a: b\n"},
	"nodeSelector":              {`{"a": "b"}`, "      nodeSelector:\n        a: b\n"},
	"tolerations":               {`[{"operator": "Exists"}]`, "      tolerations:\n      - operator: Exists\n"},
	"affinity":                  {`{"podAntiAffinity": {}}`, "      affinity:\n        podAntiAffinity: {}\n"},
	"topologySpreadConstraints": {`[{"maxSkew": 1}]`, "      topologySpreadConstraints:\n      - maxSkew: 1\n"},
	"priorityClassName":         {`"system-cluster-critical"`, "      priorityClassName: system-cluster-critical\n"},
}

// needs are the values that others are for.
var needs = map[string]string{
	"webhooks": `mode="operator"`, "certManager": `checkAuthors=true`, "transformNamespaces": `mode="operator"`,
	"allowEgress": `mode="actions"`, "monitorNetworks": `mode="actions"`, "history": `mode="actions"`, "notifications": `mode="actions"`,
}

// TestValues checks that every value is in the schema, and has the effect on manifests that
// it should have.
func TestValues(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var in struct{ Properties map[string]any }
	if err := yaml.Unmarshal(schema, &in); err != nil {
		t.Fatal(err)
	}
	delete(in.Properties, "global") // Helm's own
	names := slices.Sorted(maps.Keys(values))
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(in.Properties))); diff != "" {
		t.Errorf("values (-values.yaml +schema):\n%s", diff)
	}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(effects))); diff != "" {
		t.Errorf("values (-values.yaml +test):\n%s", diff)
	}
	plain, err := helm(t, "template", "pequod", chart, "--namespace=pequod-system")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		args := []string{"template", "pequod", chart, "--namespace=pequod-system", "--set-json=" + name + "=" + effects[name][0]}
		if more := needs[name]; more != "" {
			args = append(args, "--set-json="+more)
		}
		out, err := helm(t, args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		objects(t, out)
		if added := effects[name][1]; out == plain || !strings.Contains(out, added) || added != "" && strings.Contains(plain, added) {
			t.Errorf("%s=%s doesn't add %q", name, effects[name][0], added)
		}
	}
}

// TestShared checks that releases of all modes have no object in common if all but one leave
// out the shared ones, and that nothing is lost by that.
func TestShared(t *testing.T) {
	metrics := `metrics={"serviceMonitor": true, "rules": true, "dashboard": true}`
	together := map[string]*unstructured.Unstructured{}
	for _, mode := range []string{"gitops", "operator", "actions"} {
		release, err := render(t, "pequod-system", metrics, fmt.Sprintf("mode=%q", mode), fmt.Sprintf("shared=%t", mode == "gitops"))
		if err != nil {
			t.Fatal(err)
		}
		for id, obj := range release {
			if together[id] != nil {
				t.Errorf("%s is in two releases", id)
			}
			together[id] = obj
		}
	}
	for _, mode := range []string{"operator", "actions"} {
		whole, err := render(t, "pequod-system", metrics, fmt.Sprintf("mode=%q", mode))
		if err != nil {
			t.Fatal(err)
		}
		for id := range whole {
			if together[id] == nil {
				t.Errorf("%s is in no release", id)
			}
		}
	}
}

// TestRefused checks that values without an effect are refused, as pequod install refuses
// flags, and unknown ones.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ values, want string }{
		{`replica=2`, "additional properties 'replica' not allowed"},
		{`image={"name":"x"}`, "additional properties 'name' not allowed"},
		{`metrics={"enabled":true}`, "additional properties 'enabled' not allowed"},
		{`mode="applier"`, "value must be one of 'gitops', 'operator', 'actions'"},
		{`image={"digest":"sha256:0"}`, "does not match pattern"},
		{`image={"repository":"a\nb"}`, "does not match pattern"},
		{`extraArgs=["concurrent=8"]`, "does not match pattern"},
		{`checkAuthors=true mode="operator"`, "checkAuthors is for mode gitops"},
		{`watchNamespace="a" mode="operator"`, "watchNamespace is for mode gitops"},
		{`webhooks=true`, "webhooks is for mode operator"},
		{`transformNamespaces=["a"]`, "transformNamespaces is for mode operator"},
		{`allowEgress=["api.github.com"]`, "allowEgress is for mode actions"},
		{`history=true mode="operator"`, "history is for mode actions"},
		{`notifications=true`, "notifications is for mode actions"},
		{`monitorNetworks=["10.0.0.0/8"]`, "monitorNetworks is for mode actions"},
		{`allowEgress=["a,b"] mode="actions"`, "does not match pattern"},
		{`constrained=true mode="actions"`, "constrained is for mode gitops and operator"},
		{`watchLabelSelector="a=b" mode="actions"`, "watchLabelSelector is for mode gitops and operator"},
		{`impersonateNamespaces=["a"] mode="actions"`, "impersonateNamespaces is for mode gitops and operator"},
		{`certManager=true`, "certManager is for the webhooks of checkAuthors or webhooks"},
		{`constrained=true impersonateNamespaces=["a"]`, "constrained and impersonateNamespaces exclude each other"},
	} {
		_, err := render(t, "pequod-system", strings.Fields(test.values)...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.values, err, test.want)
		}
	}
	if _, err := helm(t, "template", "pequod", chart, "--set=mode=operator", "--kube-version=1.29.3"); err == nil || !strings.Contains(err.Error(), "mode operator needs Kubernetes 1.30 or newer") {
		t.Errorf("old cluster: %v", err)
	}
}

// TestOlderCluster checks that the applier keeps the right to act as every account where the
// narrow one can't be granted, as pequod install does.
func TestOlderCluster(t *testing.T) {
	for version, want := range map[string]bool{"1.35.2": true, "1.36.0": false, "v1.36.1-gke.100": false} {
		out, err := helm(t, "template", "pequod", chart, "--set=constrained=true", "--kube-version="+version)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out, "  - impersonate\n"); got != want {
			t.Errorf("in Kubernetes %s, the applier may impersonate: %t", version, got)
		}
	}
}

// TestLint runs Helm's own checks.
func TestLint(t *testing.T) {
	for _, values := range []string{"mode=gitops", "mode=operator", "mode=actions", "checkAuthors=true"} {
		if out, err := helm(t, "lint", "--strict", chart, "--set="+values); err != nil {
			t.Errorf("%s: %v\n%s", values, err, out)
		}
	}
}
