package config_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
)

// TestBuilt holds that pequod installs what kubectl apply -k does.
func TestBuilt(t *testing.T) {
	for dir, text := range map[string][]byte{"applier": config.Applier, "default": config.Operator, "actions": config.Actions} {
		if diff := cmp.Diff(string(build(t, dir)), string(text)); diff != "" {
			t.Errorf("the built form of config/%s isn't what it comes to; run make manifests (-kustomize +file):\n%s", dir, diff)
		}
	}
}

// TestOverlays holds that every kustomization can be built, and what the overlay
// for a single tenant adds.
func TestOverlays(t *testing.T) {
	for _, dir := range []string{"crd", "samples"} {
		build(t, dir)
	}
	base, single := build(t, "applier"), build(t, filepath.Join("applier", "overlays", "single-tenant"))
	count := func(text []byte) int { return bytes.Count(text, []byte("\nkind: ")) }
	if got := count(single) - count(base); got != 3 {
		t.Errorf("single-tenant adds %d objects, want 3", got)
	}
	for _, line := range []string{"  name: cluster-admin\n", "    pequod.io/aggregate-to-applier: \"true\"\n  name: pequod-applier-watch-everything\n"} {
		if !bytes.Contains(single, []byte(line)) || bytes.Contains(base, []byte(line)) {
			t.Errorf("%q isn't what single-tenant adds", line)
		}
	}
}

// TestComponents checks what the components change.
func TestComponents(t *testing.T) {
	count := func(text []byte) int { return bytes.Count(text, []byte("\nkind: ")) }
	base := build(t, "applier")
	narrow := buildIn(t, "applier", "components: [../applier/components/per-namespace]\n")
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object(t, narrow, "ClusterRole", "pequod-applier").Object, &role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		if slices.Contains(rule.Verbs, "impersonate") {
			t.Errorf("the applier may still impersonate: %v", rule)
		}
	}
	object(t, narrow, "ClusterRole", "pequod-applier-impersonate")
	if got := count(narrow) - count(base); got != 1 {
		t.Errorf("per-namespace adds %d objects, want 1", got)
	}

	constrained := string(buildIn(t, "applier", "components: [../applier/components/constrained]\n"))
	if strings.Contains(constrained, "- impersonate\n") || count([]byte(constrained)) != count(base) {
		t.Errorf("constrained: %d objects, want %d and no right to impersonate", count([]byte(constrained)), count(base))
	}

	manager := string(buildIn(t, "default", "components: [../default/components/constrained]\n"))
	if strings.Contains(manager, "- impersonate\n") || strings.Count(manager, "- impersonate:serviceaccount\n") != 2 || count([]byte(manager)) != count(config.Operator)+1 {
		t.Errorf("a constrained manager has %d objects, want one more than %d, and %d rights to impersonate", count([]byte(manager)), count(config.Operator),
			strings.Count(manager, "- impersonate:serviceaccount\n"))
	}

	sharded := buildIn(t, "applier", "components: [../applier/components/shards]\n")
	var deployment appsv1.Deployment
	convert(t, object(t, sharded, "Deployment", "pequod-applier"), &deployment)
	if args := deployment.Spec.Template.Spec.Containers[0].Args; *deployment.Spec.Replicas != 2 || !slices.Equal(args, []string{"--leader-elect", "--shards=8"}) {
		t.Errorf("shards: %d replicas with the arguments %q", *deployment.Spec.Replicas, args)
	}
	own := slices.DeleteFunc(rights(t, sharded, "pequod-applier"), func(right string) bool { return !strings.HasPrefix(right, "Role ") })
	if diff := cmp.Diff([]string{"Role leases create delete get list update"}, own); diff != "" {
		t.Errorf("shards: rights in its namespace (-want +got):\n%s", diff)
	}

	// In the whole cluster, an applier of one namespace may do nothing of what the
	// namespace can grant.
	one := buildIn(t, "applier", "components: [../applier/components/one-namespace]\n")
	var binding rbacv1.ClusterRoleBinding
	convert(t, object(t, one, "ClusterRoleBinding", "pequod-applier"), &binding)
	if got := strings.Count(string(one), "kind: ClusterRoleBinding\n"); got != 1 || binding.RoleRef.Name != "pequod-applier-cluster" {
		t.Errorf("one-namespace has %d ClusterRoleBindings, one of them of %s", got, binding.RoleRef.Name)
	}
	var cluster, all rbacv1.ClusterRole
	convert(t, object(t, one, "ClusterRole", "pequod-applier-cluster"), &cluster)
	convert(t, object(t, one, "ClusterRole", "pequod-applier"), &all)
	for _, rule := range cluster.Rules {
		for _, resource := range rule.Resources {
			if resource == "serviceaccounts" || resource == "events" || strings.HasPrefix(resource, "resourcegraphs") {
				t.Errorf("one-namespace grants %v of %s in the whole cluster", rule.Verbs, resource)
			}
		}
		if !slices.ContainsFunc(all.Rules, func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, rule) }) {
			t.Errorf("one-namespace grants what the applier doesn't need: %v", rule)
		}
	}
}

// TestNetworkPolicy checks that each installed policy selects the program, admits
// the ports that the Deployment names, and lets it reach an API server at any TCP port.
func TestNetworkPolicy(t *testing.T) {
	for _, test := range []struct {
		name      string
		installed []byte
	}{{"pequod-applier", config.Applier}, {"pequod-controller-manager", config.Operator}} {
		t.Run(test.name, func(t *testing.T) {
			policy, served := installedPolicy(t, test.installed, test.name)
			if diff := cmp.Diff(served, admitted(policy)); diff != "" {
				t.Errorf("admitted ports (-served +admitted):\n%s", diff)
			}
			for _, rule := range policy.Spec.Ingress {
				artifacts := slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.String() == "artifacts" })
				if artifacts && (len(rule.From) != 1 || rule.From[0].NamespaceSelector.MatchLabels[corev1.LabelMetadataName] != "flux-system") {
					t.Errorf("artifacts are open to %v", rule.From)
				}
			}
			if egress := policy.Spec.Egress[0]; len(egress.To) > 0 || *egress.Ports[0].Protocol != corev1.ProtocolTCP || egress.Ports[0].Port != nil {
				t.Errorf("egress: %+v", egress)
			}
		})
	}
}

// TestNetworkPolicyOfActions checks the addresses and ports that pequod-actions may connect to: all
// by TCP, but not the metadata services of clouds.
func TestNetworkPolicyOfActions(t *testing.T) {
	policy, served := installedPolicy(t, config.Actions, "pequod-actions")
	// The node of a Pod needs no rule for the probes.
	if diff := cmp.Diff(slices.DeleteFunc(served, func(name string) bool { return name == "probes" }), admitted(policy)); diff != "" {
		t.Errorf("admitted ports (-served +admitted):\n%s", diff)
	}
	allows := func(protocol corev1.Protocol, target string) bool {
		to := netip.MustParseAddrPort(target)
		return slices.ContainsFunc(policy.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
			return slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool {
				return *p.Protocol == protocol && (p.Port == nil || p.Port.IntValue() == int(to.Port()))
			}) && (len(rule.To) == 0 || slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool {
				return peer.IPBlock != nil && netip.MustParsePrefix(peer.IPBlock.CIDR).Contains(to.Addr()) &&
					!slices.ContainsFunc(peer.IPBlock.Except, func(except string) bool { return netip.MustParsePrefix(except).Contains(to.Addr()) })
			}))
		})
	}
	for target, want := range map[string]bool{
		"140.82.112.5:443": true, "[2606:50c0::153]:443": true, "93.184.215.14:80": true, "10.0.0.1:5432": true,
		"10.96.0.1:443": true, "172.18.0.2:6443": true, "169.254.20.10:53": true,
		"169.254.169.254:80": false, "169.254.170.2:80": false, "169.254.170.23:80": false, "[fd00:ec2::254]:80": false, "[fe80::a9fe:a9fe]:80": false,
	} {
		if got := allows(corev1.ProtocolTCP, target); got != want {
			t.Errorf("TCP to %s is allowed: %t", target, got)
		}
	}
	if allows(corev1.ProtocolUDP, "10.0.0.1:123") || !allows(corev1.ProtocolUDP, "169.254.20.10:53") {
		t.Error("UDP is allowed for something else than DNS, or not for DNS")
	}
	// Pods, which some implementations don't match by their addresses.
	if !slices.ContainsFunc(policy.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
		return len(rule.To) == 1 && rule.To[0].NamespaceSelector != nil && rule.To[0].NamespaceSelector.Size() == 0 && rule.Ports[0].Port == nil
	}) {
		t.Error("no rule for Pods")
	}
}

// installedPolicy returns a NetworkPolicy that limits both directions, and the ports of the program that it selects.
func installedPolicy(t *testing.T, installed []byte, name string) (*networkingv1.NetworkPolicy, []string) {
	t.Helper()
	var policy networkingv1.NetworkPolicy
	convert(t, object(t, installed, "NetworkPolicy", name), &policy)
	deployment := deploymentOf(t, installed, name)
	selects(t, &policy, &policy.Spec.PodSelector, deployment)
	for _, kind := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
		if !slices.Contains(policy.Spec.PolicyTypes, kind) {
			t.Errorf("%s isn't limited", kind)
		}
	}
	var served []string
	for _, port := range deployment.Spec.Template.Spec.Containers[0].Ports {
		served = append(served, port.Name)
	}
	slices.Sort(served)
	return &policy, served
}

// admitted returns the ports that a policy opens.
func admitted(policy *networkingv1.NetworkPolicy) (ports []string) {
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			ports = append(ports, port.Port.String())
		}
	}
	slices.Sort(ports)
	return ports
}

func deploymentOf(t *testing.T, installed []byte, name string) *appsv1.Deployment {
	t.Helper()
	var deployment appsv1.Deployment
	convert(t, object(t, installed, "Deployment", name), &deployment)
	return &deployment
}

// selects checks that an object selects the Pods of a Deployment.
func selects(t *testing.T, by metav1.Object, podSelector *metav1.LabelSelector, deployment *appsv1.Deployment) {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(podSelector)
	if err != nil || selector.Empty() || !selector.Matches(labels.Set(deployment.Spec.Template.Labels)) || by.GetNamespace() != deployment.Namespace {
		t.Errorf("%s of %s selects %v (%v)", by.GetName(), by.GetNamespace(), podSelector, err)
	}
}

// TestDisruption checks that the budgets select the programs, and never block the drain of a node.
func TestDisruption(t *testing.T) {
	for _, test := range []struct{ dir, component, name string }{
		{"applier", "disruption", "pequod-applier"},
		{"default", "disruption/manager", "pequod-controller-manager"},
		{"actions", "disruption/actions", "pequod-actions"},
	} {
		built := buildIn(t, test.dir, "components: [../"+test.component+"]\nnamespace: elsewhere\n")
		var budget policyv1.PodDisruptionBudget
		convert(t, object(t, built, "PodDisruptionBudget", test.name), &budget)
		selects(t, &budget, budget.Spec.Selector, deploymentOf(t, built, test.name))
		if budget.Spec.MinAvailable != nil || budget.Spec.MaxUnavailable.IntValue() != 1 || *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
			t.Errorf("%s: %+v", test.name, budget.Spec)
		}
	}
}

// TestMemoryLimit checks that the garbage collector of the applier gets to know a limit
// that is below the one of the container, with room for what it doesn't count.
func TestMemoryLimit(t *testing.T) {
	var deployment appsv1.Deployment
	convert(t, object(t, config.Applier, "Deployment", "pequod-applier"), &deployment)
	container := deployment.Spec.Template.Spec.Containers[0]
	i := slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == "GOMEMLIMIT" })
	if i < 0 {
		t.Fatal("GOMEMLIMIT isn't set")
	}
	// Go writes MiB, and Kubernetes Mi.
	soft, err := resource.ParseQuantity(strings.TrimSuffix(container.Env[i].Value, "B"))
	if err != nil {
		t.Fatal(err)
	}
	if hard := container.Resources.Limits.Memory().Value(); soft.Value() < hard*7/10 || soft.Value() > hard*85/100 {
		t.Errorf("GOMEMLIMIT is %d of %d bytes", soft.Value(), hard)
	}
}

// convert decodes an object.
func convert(t *testing.T, obj *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into); err != nil {
		t.Fatal(err)
	}
}

// TestNamespace holds that a kustomization around it moves all of it.
func TestNamespace(t *testing.T) {
	for _, dir := range []string{"applier", "default"} {
		moved := buildIn(t, dir, "namespace: operators\n")
		if bytes.Contains(moved, []byte("pequod-system")) {
			t.Errorf("something is left in pequod-system:\n%s", moved)
		}
		want := bytes.Count(build(t, dir), []byte("pequod-system"))
		if got := bytes.Count(moved, []byte(": operators\n")); got != want {
			t.Errorf("%d places name the namespace, want %d", got, want)
		}
	}
}

// TestShared checks that the objects of both installations are the same, so that they agree
// if both are in one cluster.
func TestShared(t *testing.T) {
	documents := func(text []byte) map[string]string {
		all := map[string]string{}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			var meta metav1.PartialObjectMetadata
			if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
				t.Fatal(err)
			}
			all[meta.Kind+" "+meta.Namespace+"/"+meta.Name] = strings.TrimSpace(doc)
		}
		return all
	}
	applier, operator := documents(config.Applier), documents(config.Operator)
	var shared []string
	for name, doc := range operator {
		other, ok := applier[name]
		if !ok {
			continue
		}
		shared = append(shared, name)
		if diff := cmp.Diff(other, doc); diff != "" {
			t.Errorf("%s (-applier +operator):\n%s", name, diff)
		}
	}
	slices.Sort(shared)
	want := []string{
		"CustomResourceDefinition /instancesources.platform.pequod.io",
		"CustomResourceDefinition /resourcegraphs.platform.pequod.io", "CustomResourceDefinition /transforms.platform.pequod.io", "Namespace /pequod-system",
	}
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("objects of both (-want +got):\n%s", diff)
	}
}

// TestDefinitionsAreKept checks that Flux and Argo CD keep the CRDs when they
// prune the applier: deleting a CRD would delete every graph.
func TestDefinitionsAreKept(t *testing.T) {
	for name, installed := range map[string][]byte{
		"resourcegraphs": config.Operator, "transforms": config.Operator, "instancesources": config.Operator, "actions": config.Actions, "monitors": config.Actions, "receivers": config.Actions,
	} {
		annotations := object(t, installed, "CustomResourceDefinition", name+".platform.pequod.io").GetAnnotations()
		if annotations["argocd.argoproj.io/sync-options"] != "Prune=false" || annotations["kustomize.toolkit.fluxcd.io/prune"] != "disabled" {
			t.Errorf("%s: annotations %v", name, annotations)
		}
	}
}

// TestPatches checks that patches find the objects of an installation by their names alone, as
// those of the documents do, with the namespace that they are installed in, and in another one.
func TestPatches(t *testing.T) {
	const documented = `
patches:
  # Custom resource limits
  - patch: |-
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: pequod-controller-manager
      spec:
        template:
          spec:
            containers:
            - name: manager
              resources:
                limits:
                  cpu: "1"
                  memory: 512Mi
                requests:
                  cpu: 100m
                  memory: 128Mi

  # Custom replicas
  - patch: |-
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: pequod-controller-manager
      spec:
        replicas: 2

  # Arguments
  - patch: |-
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: pequod-controller-manager
      spec:
        template:
          spec:
            containers:
            - name: manager
              args:
              - --leader-elect=true
              - --zap-log-level=debug
`
	for _, namespace := range []string{"pequod-system", "my-operators"} {
		built := buildIn(t, "default", "namespace: "+namespace+documented)
		var d appsv1.Deployment
		convert(t, object(t, built, "Deployment", "pequod-controller-manager"), &d)
		manager := d.Spec.Template.Spec.Containers[0]
		if d.Namespace != namespace || *d.Spec.Replicas != 2 || manager.Resources.Limits.Cpu().String() != "1" || !slices.Equal(manager.Args, []string{"--leader-elect=true", "--zap-log-level=debug"}) {
			t.Errorf("in %s, the patches made %d replicas with %v and the arguments %q, in %s", namespace, *d.Spec.Replicas, manager.Resources.Limits, manager.Args, d.Namespace)
		}
	}

	// Each object can be patched by its name, and by its name and its namespace.
	for dir, installed := range map[string][]byte{"applier": config.Applier, "default": config.Operator, "actions": config.Actions} {
		var patches strings.Builder
		patched := 0
		for doc := range strings.SplitSeq(string(installed), "\n---\n") {
			var meta metav1.PartialObjectMetadata
			if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
				t.Fatal(err)
			}
			namespaces := []string{""}
			if meta.Namespace != "" {
				namespaces = append(namespaces, "namespace: "+meta.Namespace+", ")
			}
			for i, namespace := range namespaces {
				patched++
				fmt.Fprintf(&patches, "- patch: '{apiVersion: %s, kind: %s, metadata: {%sname: %q, annotations: {patch-%d: done}}}'\n",
					meta.APIVersion, meta.Kind, namespace, meta.Name, i)
			}
		}
		built := buildIn(t, dir, "patches:\n"+patches.String())
		if got := bytes.Count(built, []byte(": done\n")); got != patched {
			t.Errorf("config/%s: %d patches have an effect, want %d", dir, got, patched)
		}
	}
}

// TestComponentsMove checks that the roles of components are bound to the accounts of an
// installation in another namespace.
func TestComponentsMove(t *testing.T) {
	for dir, components := range map[string][]string{
		"applier": {"webhook"}, "default": {"webhook/manager"}, "actions": {"actions/components/history", "actions/components/notifications"},
	} {
		built := buildIn(t, dir, "namespace: my-operators\ncomponents: [../"+strings.Join(components, ", ../")+"]\n")
		if bytes.Contains(built, []byte("namespace: pequod-system")) {
			t.Errorf("config/%s with %v: something is left in pequod-system", dir, components)
		}
	}
	// Without kustomize, pequod install and tests apply the documents as they are.
	for _, text := range [][]byte{config.Webhook(), config.ManagerWebhook()} {
		if accounts, namespaces := bytes.Count(text, []byte("- kind: ServiceAccount\n")), bytes.Count(text, []byte("\n  namespace: pequod-system\n---\n")); accounts != namespaces {
			t.Errorf("%d subjects, and %d of them with a namespace:\n%s", accounts, namespaces, text)
		}
	}
}

// TestDocumented holds what the kustomization in docs/operations.md does.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "to another namespace,\n`kustomization.yaml`:")
	_, rest, fenced := strings.Cut(rest, "```yaml\n")
	shown, _, ended := strings.Cut(rest, "```\n")
	if !found || !fenced || !ended {
		t.Fatal("docs/operations.md has no kustomization.yaml")
	}
	memory := filesys.MakeFsInMemory()
	for file, data := range map[string][]byte{"kustomization.yaml": []byte(shown), "applier.yaml": config.Applier} {
		if err := memory.WriteFile("/mine/"+file, data); err != nil {
			t.Fatal(err)
		}
	}
	got := string(run(t, memory, "/mine"))
	for _, part := range []string{
		"  replicas: 2\n", "- --leader-elect\n        - --concurrent=8\n", "            memory: 1Gi\n",
		"image: ghcr.io/pequod-io/pequod-applier:", "kind: Namespace\nmetadata:\n  labels:\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q isn't in\n%s", part, got)
		}
	}
	if strings.Contains(got, "pequod-system") {
		t.Error("something is left in pequod-system")
	}
}

func build(t *testing.T, dir string) []byte {
	t.Helper()
	return run(t, filesys.MakeFsOnDisk(), dir)
}

// buildIn builds a kustomization that has another as its resource, beside it.
func buildIn(t *testing.T, dir, text string) []byte {
	t.Helper()
	disk, memory := filesys.MakeFsOnDisk(), filesys.MakeFsInMemory()
	err := disk.Walk(".", func(path string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := disk.ReadFile(path)
		if err != nil {
			return err
		}
		return memory.WriteFile("/config/"+filepath.ToSlash(path), data)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := memory.WriteFile("/config/mine/kustomization.yaml", []byte(text+"resources: [../"+dir+"]\n")); err != nil {
		t.Fatal(err)
	}
	return run(t, memory, "/config/mine")
}

func run(t *testing.T, files filesys.FileSystem, dir string) []byte {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl does it
	resources, err := krusty.MakeKustomizer(options).Run(files, dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return text
}
