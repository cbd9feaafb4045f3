package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// newerSchema is the field that the newer version adds to the input of the module webservice.
const newerSchema = `
#Input: {
	// A greeting, which the older version doesn't know.
	greeting?: string
}
`

// versionsOf returns the resource versions of all objects of some resources.
func versionsOf(t *testing.T, c *harness.Cluster, resources ...schema.GroupVersionResource) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, resource := range resources {
		list, err := c.Dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if ns := o.GetNamespace(); ns == c.Namespace || ns == "" && resource.Resource == "customresourcedefinitions" {
				all[resource.Resource+" "+o.GetName()] = versionOf(&o)
			}
		}
	}
	return all
}

// versionOf returns the version of an object: its resource version or, since the controller of
// Deployments writes their status at any time, all writes of others.
func versionOf(o *unstructured.Unstructured) string {
	if o.GetKind() != "Deployment" {
		return o.GetResourceVersion()
	}
	version := fmt.Sprint(o.GetUID(), " ", o.GetGeneration())
	for _, m := range o.GetManagedFields() {
		if m.Subresource == "" {
			version += fmt.Sprint(" ", m.Manager, " ", m.Time.Unix())
		}
	}
	return version
}

var (
	crds         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	services     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	graphs       = schema.GroupVersionResource{Group: "platform.pequod.io", Version: "v1alpha1", Resource: "resourcegraphs"}
	webservices  = schema.GroupVersionResource{Group: "pequod.io", Version: "v1alpha1", Resource: "webservices"}
	applications = schema.GroupVersionResource{Group: "pequod.io", Version: "v1alpha1", Resource: "applications"}
)

// unchanged checks that no object was written since the versions were taken.
func unchanged(t *testing.T, c *harness.Cluster, when string, before map[string]string, resources ...schema.GroupVersionResource) {
	t.Helper()
	if diff := cmp.Diff(before, versionsOf(t, c, resources...)); diff != "" {
		t.Errorf("%s, versions changed (-before +after):\n%s", when, diff)
	}
}

// rendered waits until the manager has rendered a number of instances and has nothing left to do.
func rendered(t *testing.T, c *harness.Cluster, p *process.Process, instances int) {
	t.Helper()
	token := c.ServiceAccount(t, c.Namespace, "scraper").BearerToken
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, body, err := process.Get(ctx, "https://"+p.Metrics+"/metrics", token)
		if n := value(body, "pequod_cue_render_duration_seconds_count"); err == nil && n < instances {
			err = fmt.Errorf("%d of %d instances were rendered", n, instances)
		}
		return err
	})
	time.Sleep(time.Second) // writes that should not be there follow at once
}

// set changes fields of an object as a user does.
func set(t *testing.T, c *harness.Cluster, resource schema.GroupVersionResource, namespace, name, patch string) {
	t.Helper()
	_, err := c.Dynamic.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// hasGreeting reports whether the CRD of the module has the field of the newer version.
func hasGreeting(t *testing.T, c *harness.Cluster) bool {
	t.Helper()
	crd, err := c.Dynamic.Resource(crds).Get(t.Context(), "webservices.pequod.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	_, found, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "greeting")
	return found
}

// stopped ends a manager as a Deployment does.
func stopped(t *testing.T, p *process.Process) {
	t.Helper()
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestUpgrade goes to a newer manager, whose embedded module webservice has one field more and
// whose module application is the same, and back. Objects of instances are never written. The CRD
// keeps the field until a user approves that it goes.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	c, access := deployed.Install(t)
	// A file of its own: the processes of other tests share no memory with it, see checkMemory.
	older := deployed.Variant(t, "v1.2.3-test", nil)
	newer := deployed.Variant(t, "v1.3.0-test", map[string]string{"modules/platform/webservice/schema.cue": newerSchema})
	run := func(program process.Program) *process.Process {
		t.Helper()
		p := program.Start(t, c, access)
		p.Ready(t)
		return p
	}
	ready := func(kind, condition, status, reason string) {
		t.Helper()
		hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, kind, condition, status, reason)
	}
	c.Apply(t, scraperRole(c.Namespace))
	old := run(older)
	c.Apply(t, webService(process.Namespace))
	c.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: application, namespace: "+process.Namespace+"}, spec: {cueRef: {type: embedded, ref: application}}}")
	ready("webservice", "Ready", "True", "")
	ready("application", "Ready", "True", "")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 80}}")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: Application, metadata: {name: app}, spec: {components: {api: {image: 'ghcr.io/example/api:v1', port: 80}}}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	hasCondition(t, c, "pequod.io/v1alpha1", "Application", c.Namespace, "app", "Ready", "True", "")
	objects, app := versionsOf(t, c, deployments, services), versionsOf(t, c, applications)
	appGraph := graphOf(t, c, "app")
	checkMemory(t, old)
	stopped(t, old)

	p := run(newer)
	ready("webservice", "Ready", "True", "")
	rendered(t, c, p, 2)
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	if !hasGreeting(t, c) {
		t.Fatal("the CRD lacks the field of the newer version")
	}
	unchanged(t, c, "after the upgrade", objects, deployments, services)
	unchanged(t, c, "after the upgrade", app, applications)
	if after := graphOf(t, c, "app"); after != appGraph {
		t.Errorf("the graph of an unchanged module was written: %s, then %s", appGraph, after)
	}
	set(t, c, webservices, c.Namespace, "web", `{"spec": {"greeting": "hello"}}`)
	rendered(t, c, p, 3)
	settled(t, c, "web")
	stopped(t, p)

	// The older manager doesn't take the field away, and writes nothing.
	before := versionsOf(t, c, crds, deployments, services, graphs, webservices, applications)
	p = run(older)
	ready("webservice", "Stalled", "True", "BreakingChange")
	ready("application", "Ready", "True", "")
	rendered(t, c, p, 1)
	unchanged(t, c, "after the rollback", before, crds, deployments, services, graphs, webservices, applications)
	// It renders with the newer module, whose sources are kept in the cluster.
	set(t, c, webservices, c.Namespace, "web", `{"spec": {"replicas": 2}}`)
	hasReplicas(t, c, "web", 2)
	settled(t, c, "web")
	stopped(t, p)
	before, objects = versionsOf(t, c, crds, deployments, services, graphs, webservices, applications), versionsOf(t, c, deployments, services)

	// The newer one continues as if nothing had happened.
	p = run(newer)
	ready("webservice", "Ready", "True", "")
	rendered(t, c, p, 2)
	unchanged(t, c, "after the second upgrade", before, crds, deployments, services, graphs, webservices, applications)
	stopped(t, p)

	// To stay with the older one, its digest is approved. The field goes, objects stay.
	p = run(older)
	ready("webservice", "Stalled", "True", "BreakingChange")
	digest := availableDigest(t, c)
	set(t, c, schema.GroupVersionResource{Group: "platform.pequod.io", Version: "v1alpha1", Resource: "transforms"}, process.Namespace, "webservice",
		`{"spec": {"approvedBreakingDigest": "`+digest+`"}}`)
	ready("webservice", "Ready", "True", "")
	rendered(t, c, p, 1) // the other graph was written by this program
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	if hasGreeting(t, c) {
		t.Error("the CRD has the field of the newer version although its loss was approved")
	}
	unchanged(t, c, "after the approval", objects, deployments, services)
	stopped(t, p)
}

// hasReplicas waits until the Deployment of an instance has a number of replicas, all of them ready.
func hasReplicas(t *testing.T, c *harness.Cluster, name string, replicas int64) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		d, err := c.Dynamic.Resource(deployments).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		wanted, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas")
		if wanted != replicas || ready != replicas {
			return fmt.Errorf("%d of %d replicas are ready", ready, wanted)
		}
		return nil
	})
}

// settled waits until the status of a WebService is ready for its last change, so that nothing is
// left to write.
func settled(t *testing.T, c *harness.Cluster, name string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		in, err := c.Dynamic.Resource(webservices).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		observed, _, _ := unstructured.NestedInt64(in.Object, "status", "observedGeneration")
		phase, _, _ := unstructured.NestedString(in.Object, "status", "phase")
		if observed != in.GetGeneration() || phase != "Ready" {
			return fmt.Errorf("generation %d is in phase %s, want that of generation %d", observed, phase, in.GetGeneration())
		}
		return nil
	})
}

// graphOf returns the name and the version of the graph of an instance.
func graphOf(t *testing.T, c *harness.Cluster, instance string) string {
	t.Helper()
	list, err := c.Dynamic.Resource(graphs).Namespace(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list.Items {
		if owner := metav1.GetControllerOf(&g); owner != nil && owner.Name == instance {
			return g.GetName() + " " + g.GetResourceVersion()
		}
	}
	t.Fatalf("%s has no graph", instance)
	return ""
}

// availableDigest returns the digest of the content that waits for an approval.
func availableDigest(t *testing.T, c *harness.Cluster) string {
	t.Helper()
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	transform, err := transforms.Get(t.Context(), "webservice", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	digest, _, _ := unstructured.NestedString(transform.Object, "status", "availableCueRef", "digest")
	return digest
}

// TestNewerDefinitions runs the manager with CRDs of a newer version, as an upgrade does for a
// while, and then with its own again, as a rollback does. A field that it doesn't know survives its
// writes. Without the field in the CRD, the Transform and its instances go on working.
func TestNewerDefinitions(t *testing.T) {
	t.Parallel()
	c, access := deployed.Install(t)
	const name = "transforms.platform.pequod.io"
	own, err := c.Dynamic.Resource(crds).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newer := own.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(newer.Object, "spec", "versions")
	if err := unstructured.SetNestedField(versions[0].(map[string]any), "string", "schema", "openAPIV3Schema", "properties", "spec", "properties", "future", "type"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(newer.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	replace := func(crd *unstructured.Unstructured) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			live, err := c.Dynamic.Resource(crds).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			live.Object["spec"] = crd.Object["spec"]
			_, err = c.Dynamic.Resource(crds).Update(ctx, live, metav1.UpdateOptions{})
			return err
		})
	}
	future := func() string {
		t.Helper()
		transform, err := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace).Get(t.Context(), "webservice", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		value, _, _ := unstructured.NestedString(transform.Object, "spec", "future")
		return value
	}
	ready := func() {
		t.Helper()
		hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	}
	transforms := schema.GroupVersionResource{Group: "platform.pequod.io", Version: "v1alpha1", Resource: "transforms"}

	replace(newer)
	p := deployed.Start(t, c, access)
	p.Ready(t)
	c.Apply(t, webService(process.Namespace))
	harness.Eventually(t, patience, func(ctx context.Context) error { // until the API server knows the field
		_, err := c.Dynamic.Resource(transforms).Namespace(process.Namespace).Patch(ctx, "webservice", types.MergePatchType, []byte(`{"spec": {"future": "bright"}}`), metav1.PatchOptions{})
		if err == nil && future() != "bright" {
			err = fmt.Errorf("the API server dropped the field")
		}
		return err
	})
	ready()
	set(t, c, transforms, process.Namespace, "webservice", `{"metadata": {"annotations": {"pequod.io/reconcile-requested-at": "now"}}}`)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		transform, err := c.Dynamic.Resource(transforms).Namespace(process.Namespace).Get(ctx, "webservice", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if handled, _, _ := unstructured.NestedString(transform.Object, "status", "lastHandledReconcileAt"); handled != "now" {
			return fmt.Errorf("handled %q", handled)
		}
		return nil
	})
	if got := future(); got != "bright" {
		t.Errorf("after writes of the manager, the field is %q", got)
	}
	stopped(t, p)

	replace(own)
	p = deployed.Start(t, c, access)
	p.Ready(t)
	ready()
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 80}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	stopped(t, p)
}
