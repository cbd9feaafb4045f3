package modules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/render"
)

// typed returns a new value of the Go type of a built-in kind, or nil for a custom
// resource.
func typed(t *testing.T, apiVersion, kind string) any {
	t.Helper()
	switch apiVersion + " " + kind {
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}
	case "v1 PersistentVolumeClaim":
		return &corev1.PersistentVolumeClaim{}
	case "v1 Secret":
		return &corev1.Secret{}
	case "v1 Service":
		return &corev1.Service{}
	case "v1 ServiceAccount":
		return &corev1.ServiceAccount{}
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "apps/v1 StatefulSet":
		return &appsv1.StatefulSet{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return &autoscalingv2.HorizontalPodAutoscaler{}
	case "batch/v1 CronJob":
		return &batchv1.CronJob{}
	case "batch/v1 Job":
		return &batchv1.Job{}
	case "networking.k8s.io/v1 Ingress":
		return &networkingv1.Ingress{}
	case "policy/v1 PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "platform.pequod.io/v1alpha1 Action":
		return &v1alpha1.Action{}
	case "platform.pequod.io/v1alpha1 Monitor":
		return &v1alpha1.Monitor{}
	case "rbac.authorization.k8s.io/v1 Role":
		return &rbacv1.Role{}
	case "rbac.authorization.k8s.io/v1 RoleBinding":
		return &rbacv1.RoleBinding{}
	case "gateway.networking.k8s.io/v1 HTTPRoute", "iam.services.k8s.aws/v1alpha1 Role":
		return nil
	}
	t.Errorf("no type for %s %s: add it here", apiVersion, kind)
	return nil
}

// object decodes a node's resource into its Go type. Fields that the type does not
// have fail the test.
func object(t *testing.T, n v1alpha1.Node) any {
	t.Helper()
	var generic map[string]any
	if err := json.Unmarshal(n.Resource.Raw, &generic); err != nil {
		t.Fatal(err)
	}
	into := typed(t, generic["apiVersion"].(string), generic["kind"].(string))
	if into == nil {
		return nil
	}
	data, err := json.Marshal(settled(generic))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Errorf("node %s: %v", n.ID, err)
	}
	return into
}

// settled replaces every late reference with a text.
func settled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"$from", "$generate"} {
			if _, ok := v[key]; ok && len(v) == 1 {
				return "made in the cluster"
			}
		}
		for key := range v {
			v[key] = settled(v[key])
		}
	case []any:
		for i := range v {
			v[i] = settled(v[i])
		}
	}
	return v
}

// podSpec returns the spec of the Pods that an object creates with the names of their
// volumes, or nil if it creates none.
func podSpec(object any) (pod *corev1.PodSpec, volumes []string) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		pod = &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		pod = &o.Spec.Template.Spec
		for _, claim := range o.Spec.VolumeClaimTemplates {
			volumes = append(volumes, claim.Name)
		}
	case *batchv1.Job:
		pod = &o.Spec.Template.Spec
	case *batchv1.CronJob:
		pod = &o.Spec.JobTemplate.Spec.Template.Spec
	default:
		return nil, nil
	}
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	return pod, volumes
}

// unrestricted returns the settings of a Pod that violate the level restricted of the
// Pod Security Standards, as far as the modules use them.
func unrestricted(pod *corev1.PodSpec) []string {
	var found []string
	add := func(wrong bool, what string) {
		if wrong {
			found = append(found, what)
		}
	}
	is := func(b *bool, want bool) bool { return b != nil && *b == want }
	sc := pod.SecurityContext
	if sc == nil {
		return []string{"no securityContext"}
	}
	add(pod.HostNetwork || pod.HostPID || pod.HostIPC, "host namespaces")
	add(!is(sc.RunAsNonRoot, true), "runAsNonRoot")
	add(sc.RunAsUser != nil && *sc.RunAsUser == 0, "runAsUser")
	add(sc.SeccompProfile == nil || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, "seccompProfile")
	for _, v := range pod.Volumes {
		add(v.ConfigMap == nil && v.EmptyDir == nil && v.PersistentVolumeClaim == nil && v.Secret == nil, "volume "+v.Name)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		csc := c.SecurityContext
		if csc == nil {
			found = append(found, c.Name+" has no securityContext")
			continue
		}
		add(!is(csc.AllowPrivilegeEscalation, false), c.Name+" allowPrivilegeEscalation")
		add(csc.Privileged != nil, c.Name+" privileged")
		add(csc.Capabilities == nil || !slices.Contains(csc.Capabilities.Drop, "ALL") || len(csc.Capabilities.Add) > 0, c.Name+" capabilities")
		add(csc.RunAsUser != nil, c.Name+" runAsUser")
	}
	return found
}

// TestObjects checks the rendered objects of every case against the Go types of
// Kubernetes, and their Pods against the Pod Security Standards: the level is
// restricted, or baseline if the name of the case contains that word.
func TestObjects(t *testing.T) {
	for _, dir := range dirs(t) {
		p := moduleIn(t, dir)
		cases, err := filepath.Glob(filepath.Join(dir, "tests", "*", "graph.yaml"))
		if err != nil || len(cases) == 0 {
			t.Fatalf("%s: %d cases, %v", dir, len(cases), err)
		}
		for _, c := range cases {
			name := filepath.Base(filepath.Dir(c))
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				file := filepath.Join(filepath.Dir(c), "instance.yaml")
				for _, res := range rendered(t, file, func(*render.Instance) *render.Platform { return p }) {
					checkObjects(t, res, strings.Contains(name, "baseline"))
				}
			})
		}
	}
}

func checkObjects(t *testing.T, res render.Result, baseline bool) {
	t.Helper()
	if res.Graph == nil {
		t.Fatal(res.Problems)
	}
	checkNodes(t, res.Graph.Spec.Graph.Nodes, baseline)
}

func checkNodes(t *testing.T, nodes []v1alpha1.Node, baseline bool) {
	t.Helper()
	for _, n := range nodes {
		if n.Resource == nil {
			continue
		}
		pod, volumes := podSpec(object(t, n))
		if pod == nil {
			continue
		}
		if found := unrestricted(pod); (len(found) > 0) != baseline {
			t.Errorf("node %s: against restricted Pod security: %v", n.ID, found)
		}
		for _, problem := range unstartable(pod) {
			t.Errorf("node %s: a kubelet would refuse it: %s", n.ID, problem)
		}
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			for _, m := range c.VolumeMounts {
				if !slices.Contains(volumes, m.Name) {
					t.Errorf("node %s: container %s mounts %s, which is no volume of %v", n.ID, c.Name, m.Name, volumes)
				}
			}
		}
	}
}

// TestSamples renders the samples in testdata with the embedded modules and with the
// Transform in the same directory.
func TestSamples(t *testing.T) {
	dir := filepath.Join("..", "testdata", "samples")
	platforms := map[string]*render.Platform{}
	for _, name := range []string{"application", "backup", "database"} {
		p := platform(t, v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}, "", "", v1alpha1.TransformSpec{})
		platforms[p.Kind] = p
	}
	data, err := os.ReadFile(filepath.Join(dir, "transform.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var transform v1alpha1.Transform
	if err := yaml.UnmarshalStrict(data, &transform); err != nil {
		t.Fatal(err)
	}
	p := platform(t, transform.Spec.CueRef, dir, transform.Name, transform.Spec)
	platforms[p.Kind] = p
	for _, kind := range []string{"MyApp", "Database", "Application", "Backup"} {
		file := filepath.Join(dir, strings.ToLower(kind)+".yaml")
		results := rendered(t, file, func(in *render.Instance) *render.Platform { return platforms[in.Kind] })
		if len(results) == 0 {
			t.Errorf("%s: no instance", file)
		}
		for _, res := range results {
			if len(res.Problems) > 0 {
				t.Errorf("%s: %v", file, res.Problems)
			}
			checkObjects(t, res, kind == "MyApp")
		}
	}
}
