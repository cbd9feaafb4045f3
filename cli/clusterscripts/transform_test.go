package clusterscripts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/harness"
)

// TestTransforms checks that the API server refuses Transforms with wrong values and
// with fields that nothing implements, and that the status of an accepted one names
// the missing manager.
func TestTransforms(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	definition, err := os.ReadFile(filepath.FromSlash("../../config/crd/platform.pequod.io_transforms.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, string(definition))
	transforms, err := c.Resource("platform.pequod.io/v1alpha1", "Transform", "")
	if err != nil {
		t.Fatal(err)
	}
	// Before Kubernetes 1.35, errors of CEL rules have the type of a value instead of the value.
	value := regexp.MustCompile(`Invalid value: "[^"]*"`)
	const pinned = "digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for i, test := range []struct{ spec, want string }{
		{"{cueRef: {type: nonsense, ref: x}}", `spec.cueRef.type: Unsupported value: "nonsense"`},
		{"{cueRef: {type: path, ref: ./x}}", "spec.cueRef.type: Forbidden: path is only for Transforms in files"},
		{`{cueRef: {type: embedded, ref: ""}}`, "spec.cueRef.ref"},
		{"{cueRef: {type: embedded}}", "spec.cueRef.ref: Required value"},
		{"{}", "spec.cueRef: Required value"},
		{"{cueRef: {type: embedded, ref: x, path: z}}", "spec.cueRef.path: Forbidden: an embedded module has no path"},
		{"{cueRef: {type: embedded, ref: x, digest: sha256:short}}", "spec.cueRef.digest: Invalid value"},
		{"{cueRef: {type: embedded, ref: x, digest: ''}}", "spec.cueRef.digest: Invalid value"},
		{"{cueRef: {type: oci, ref: 'oci-layout:x'}}", "spec.cueRef.ref: Invalid value: must begin with oci://: a cluster has no directories"},
		{"{cueRef: {type: oci, ref: 'oci://example.com/x:v1', pullSecretRef: z, verify: {provider: cosign, secretRef: keys}}}", ""},
		{"{cueRef: {type: oci, ref: 'oci://example.com/x:v1', verify: {provider: cosign, secretRef: root, matchOIDCIdentity: [{issuer: x, subject: z}]}}}", ""},
		{"{cueRef: {type: oci, ref: 'oci://example.com/x:v1', pullSecretRef: ''}}", "spec.cueRef.pullSecretRef: Invalid value"},
		{"{cueRef: {type: oci, ref: 'oci://example.com/x:v1', verify: {}}}", "spec.cueRef.verify.provider: Required value"},
		{"{cueRef: {type: oci, ref: 'oci://example.com/x:v1', verify: {provider: cosign}}}", "spec.cueRef.verify.secretRef: Required value"},
		{"{cueRef: {type: oci, ref: 'oci://example.com/x:v1', verify: {provider: notation, secretRef: keys}}}", `spec.cueRef.verify.provider: Unsupported value: "notation"`},
		{"{cueRef: {type: embedded, ref: x, verify: {provider: cosign, secretRef: keys}}}", "spec.cueRef.verify: Forbidden: is only for type oci"},
		{"{cueRef: {type: embedded, ref: x}, policies: [{type: path, ref: z}]}", "spec.policies[0].type: Forbidden"},
		{"{cueRef: {type: embedded, ref: x}, policies: [{type: embedded, ref: z, verify: {provider: cosign, secretRef: keys}}]}", "spec.policies[0].verify: Forbidden"},
		{"{cueRef: {type: embedded, ref: x}, rollout: {}}", ""},
		{"{cueRef: {type: embedded, ref: x}, interval: 5s}", "spec.interval: Invalid value: \"5s\": must be at least 30s"},
		{"{cueRef: {type: embedded, ref: x}, interval: soon}", "spec.interval: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, rbacScope: Namespaced}", `spec.rbacScope: Unsupported value: "Namespaced"`},
		{"{cueRef: {type: embedded, ref: x}, crdDeletionPolicy: Keep}", `spec.crdDeletionPolicy: Unsupported value: "Keep"`},
		{"{cueRef: {type: embedded, ref: x}, adoptCRDs: [shops]}", "spec.adoptCRDs[0]: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, deletionPolicy: Orphan}", "spec.deletionPolicy: Forbidden: was renamed to graphDeletionPolicy"},
		{"{cueRef: {type: embedded, ref: x}, graphDeletionPolicy: Keep}", `spec.graphDeletionPolicy: Unsupported value: "Keep"`},
		{"{cueRef: {type: embedded, ref: x}, scope: Nope}", `spec.scope: Unsupported value: "Nope"`},
		{"{cueRef: {type: embedded, ref: x}, group: UPPER}", "spec.group: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, version: v1.0}", "spec.version: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, kind: Web Shop}", "spec.kind: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, plural: Shops}", "spec.plural: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, shortNames: [WS]}", "spec.shortNames[0]: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, categories: [All]}", "spec.categories[0]: Invalid value"},
		{"{cueRef: {type: embedded, ref: x}, serviceAccountName: ../default}", "spec.serviceAccountName: Invalid value"},
		{"{cueRef: {type: embedded, ref: webservice, " + pinned + "}, group: apps.example.com, version: v1, kind: WebShop, plural: webshops, scope: Namespaced, " +
			"shortNames: [ws], categories: [all], serviceAccountName: deployer, graphDeletionPolicy: Orphan, policies: [{type: oci, ref: 'oci://example.com/x:v1', path: org}]}", ""},
		{"{cueRef: {type: embedded, ref: webservice}}", ""},
		{"{cueRef: {type: embedded, ref: webservice}, interval: 1h, crdDeletionPolicy: Orphan, adoptCRDs: [shops.pequod.io], " +
			"managedResources: [{apiGroup: '', resources: [configmaps]}], rbacScope: Namespace}", ""},
		{"{cueRef: {type: configmap, ref: shop/web}}", ""},
		{"{cueRef: {type: inline, ref: package x}}", ""},
		{"{cueRef: {type: inline, files: [{name: x.cue, content: package x}, {name: cue.mod/module.cue, content: x}]}}", ""},
		{"{cueRef: {type: inline}}", "spec.cueRef.ref: Required value"},
		{"{cueRef: {type: inline, files: []}}", "spec.cueRef.files: Invalid value"},
		{"{cueRef: {type: inline, ref: package x, files: [{name: x.cue, content: x}]}}", "spec.cueRef.files: Forbidden: ref has the source of the module already"},
		{"{cueRef: {type: oci, ref: 'oci://example.com/x:v1', files: [{name: x.cue, content: x}]}}", "spec.cueRef.files: Forbidden: is only for type inline"},
		{"{cueRef: {type: oci, files: [{name: x.cue, content: x}]}}", "spec.cueRef.ref: Required value"},
		{"{cueRef: {type: inline, files: [{name: ../x.cue, content: x}]}}", "spec.cueRef.files[0].name: Invalid value"},
		{"{cueRef: {type: inline, files: [{name: x.cue, content: x}, {name: x.cue, content: x}]}}", "spec.cueRef.files[1]: Duplicate value"},
		{"{cueRef: {type: configmap, ref: '" + strings.Repeat("x", 318) + "'}}", "spec.cueRef.ref: Invalid value"},
	} {
		test.want = value.ReplaceAllString(test.want, "Invalid value")
		var spec map[string]any
		if err := yaml.Unmarshal([]byte(test.spec), &spec); err != nil {
			t.Fatal(err)
		}
		_, err := transforms.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "platform.pequod.io/v1alpha1", "kind": "Transform",
			"metadata": map[string]any{"name": fmt.Sprintf("transform-%d", i)}, "spec": spec,
		}}, metav1.CreateOptions{})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.spec, err)
		case test.want != "" && (err == nil || !strings.Contains(value.ReplaceAllString(err.Error(), "Invalid value"), test.want)):
			t.Errorf("%s: error %v; want %s", test.spec, err, test.want)
		}
	}
	bin := t.TempDir()
	harness.Kubectl(t, bin)
	kubectl := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl"), "get", "transforms", "-o", "wide", "-n", c.Namespace)
	kubectl.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	out, err := kubectl.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if want := "NAME PHASE READY REASON CRD INSTANCES VERSION ROLLOUT MESSAGE AGE"; strings.Join(strings.Fields(lines[0]), " ") != want || len(lines) != 10 {
		t.Errorf("columns; want %s:\n%s", want, out)
	}
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); strings.Join(fields[1:4], " ") != "Pending Unknown WaitingForManager" || !strings.Contains(line, "no manager has seen the Transform") {
			t.Errorf("status without a manager: %s", line)
		}
	}
}
