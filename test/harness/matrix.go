package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Target is an object that a token is tried on, with the answers that are expected.
type Target struct {
	// Manifest is the object, with the name NAME. Without a namespace, it is in the test's.
	Manifest string
	// Allowed are the verbs that the token has, separated by blanks. The verb status patches the
	// status, and names with a slash create a subresource, such as /token.
	Allowed string
	// Patch is the merge patch of the verb patch; by default one that adds an annotation.
	Patch string
	// Live is the name of the object. If it is empty, the administrator creates one; otherwise it may
	// be missing.
	Live string
}

// tried are the verbs that are tried on each target.
var tried = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "status"}

// TryToken sends every verb for every target to the API server with the given access, as dry runs, and
// reports answers other than expected. It returns how many requests were expected to be allowed,
// and to be refused.
func (c *Cluster) TryToken(t testing.TB, access *rest.Config, targets []Target) (allowed, refused int) {
	t.Helper()
	access = rest.CopyConfig(access)
	access.QPS = -1
	client, err := dynamic.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	var inside, outside atomic.Int64
	var group errgroup.Group
	group.SetLimit(32)
	for i, target := range targets {
		name := target.Live
		if name == "" {
			name = fmt.Sprintf("tried%d", i)
			c.Apply(t, strings.ReplaceAll(target.Manifest, "NAME", name))
		}
		objects, err := decode(strings.ReplaceAll(target.Manifest, "NAME", name) + "\n---\n" + strings.ReplaceAll(target.Manifest, "NAME", fmt.Sprintf("untried%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		live, fresh := objects[0], objects[1]
		verbs := strings.Fields(target.Allowed)
		for _, verb := range slices.Concat(tried, slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return !strings.HasPrefix(v, "/") })) {
			group.Go(func() error {
				err := c.try(t.Context(), client, verb, live, fresh, target.Patch)
				want := slices.Contains(verbs, verb)
				if want {
					inside.Add(1)
				} else {
					outside.Add(1)
				}
				// A request that is refused for its content may hide what the policies would say. Those of
				// subresources and reviews have only rights.
				unclear := (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && !strings.HasPrefix(verb, "/") && !strings.HasSuffix(live.GetKind(), "Review")
				if apierrors.IsForbidden(err) == want || unclear {
					t.Errorf("%s: %s %s %s/%s: %v; want it allowed: %t", cmp.Or(access.Impersonate.UserName, "token"), verb, live.GetKind(), live.GetNamespace(), live.GetName(), err, want)
				}
				return nil
			})
		}
	}
	_ = group.Wait() // errors were reported
	return int(inside.Load()), int(outside.Load())
}

// try sends one request.
func (c *Cluster) try(ctx context.Context, client dynamic.Interface, verb string, live, fresh *unstructured.Unstructured, patch string) error {
	mapping, err := c.mapper.RESTMapping(live.GroupVersionKind().GroupKind(), live.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	objects := dynamic.ResourceInterface(client.Resource(mapping.Resource))
	admin := dynamic.ResourceInterface(c.Dynamic.Resource(mapping.Resource))
	if namespace := live.GetNamespace(); mapping.Scope.Name() == "namespace" {
		if namespace == "" {
			namespace = c.Namespace
		}
		objects, admin = client.Resource(mapping.Resource).Namespace(namespace), c.Dynamic.Resource(mapping.Resource).Namespace(namespace)
	}
	if patch == "" {
		patch = `{"metadata":{"annotations":{"example.com/tried":"yes"}}}`
	}
	dry := []string{metav1.DryRunAll}
	one := metav1.SingleObject(metav1.ObjectMeta{Name: live.GetName()})
	switch verb {
	case "get":
		_, err = objects.Get(ctx, live.GetName(), metav1.GetOptions{})
	case "list":
		_, err = objects.List(ctx, metav1.ListOptions{Limit: 1})
	case "watch":
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		_, err = objects.Watch(ctx, metav1.ListOptions{})
	case "create":
		_, err = objects.Create(ctx, fresh.DeepCopy(), metav1.CreateOptions{DryRun: dry})
	case "update":
		now, missing := admin.Get(ctx, live.GetName(), metav1.GetOptions{})
		if missing != nil {
			now = live.DeepCopy()
		}
		now.SetAnnotations(map[string]string{"example.com/tried": "yes"})
		_, err = objects.Update(ctx, now, metav1.UpdateOptions{DryRun: dry})
	case "patch":
		_, err = objects.Patch(ctx, live.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dry})
	case "status":
		_, err = objects.Patch(ctx, live.GetName(), types.MergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{DryRun: dry}, "status")
	case "delete":
		err = objects.Delete(ctx, live.GetName(), metav1.DeleteOptions{DryRun: dry})
	case "deletecollection":
		err = objects.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dry}, one)
	default:
		_, err = objects.Create(ctx, fresh.DeepCopy(), metav1.CreateOptions{DryRun: dry}, strings.TrimPrefix(verb, "/"))
	}
	return err
}

// Kinds returns targets of common kinds in the given namespaces, and one target for each cluster-scoped
// kind. The objects don't exist. allowed has the allowed verbs by "KIND NAMESPACE", or by "KIND" for the
// namespaces without an entry of their own.
func Kinds(allowed map[string]string, namespaces ...string) []Target {
	const pod = `{metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}`
	const workload = `selector: {matchLabels: {a: b}}, template: ` + `{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}`
	var targets []Target
	add := func(apiVersion, kind, fields string, namespaces ...string) {
		for _, namespace := range namespaces {
			verbs, found := allowed[kind+" "+namespace]
			if !found {
				verbs = allowed[kind]
			}
			if namespace != "" {
				namespace = ", namespace: " + namespace
			}
			targets = append(targets, Target{Manifest: `{apiVersion: ` + apiVersion + `, kind: ` + kind + `, metadata: {name: NAME` + namespace + `}` + fields + `}`, Allowed: verbs, Live: "absent"})
		}
	}
	for _, k := range [][3]string{
		{"v1", "ConfigMap", ""}, {"v1", "Secret", ""}, {"v1", "ServiceAccount", ""}, {"v1", "Pod", `, spec: {containers: [{name: a, image: a}]}`},
		{"v1", "Service", `, spec: {ports: [{port: 80}]}`}, {"v1", "PersistentVolumeClaim", `, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`},
		{"v1", "ResourceQuota", ""}, {"v1", "LimitRange", ""}, {"v1", "Endpoints", ""}, {"apps/v1", "Deployment", `, spec: {` + workload + `}`},
		{"apps/v1", "StatefulSet", `, spec: {serviceName: a, ` + workload + `}`}, {"apps/v1", "DaemonSet", `, spec: {` + workload + `}`},
		{"apps/v1", "ReplicaSet", `, spec: {` + workload + `}`}, {"apps/v1", "ControllerRevision", `, revision: 1, data: {a: b}`}, {"batch/v1", "Job", `, spec: {template: ` + pod + `}`},
		{"batch/v1", "CronJob", `, spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: ` + pod + `}}}`}, {"networking.k8s.io/v1", "NetworkPolicy", `, spec: {podSelector: {}}`},
		{"policy/v1", "PodDisruptionBudget", `, spec: {maxUnavailable: 1}`}, {"coordination.k8s.io/v1", "Lease", ""},
		{"rbac.authorization.k8s.io/v1", "Role", ""}, {"rbac.authorization.k8s.io/v1", "RoleBinding", `, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}`},
	} {
		add(k[0], k[1], k[2], namespaces...)
	}
	const webhook = `name: a.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://example.com/"}`
	for _, k := range [][3]string{
		{"v1", "Namespace", ""}, {"v1", "Node", ""}, {"v1", "PersistentVolume", `, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /}}`},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", ""}, {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", `, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}`},
		{"storage.k8s.io/v1", "StorageClass", `, provisioner: a`}, {"scheduling.k8s.io/v1", "PriorityClass", `, value: 1`},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", `, webhooks: [{` + webhook + `}]`},
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", `, webhooks: [{` + webhook + `}]`},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", ""}, {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", ""},
		{"apiregistration.k8s.io/v1", "APIService", ""}, {"certificates.k8s.io/v1", "CertificateSigningRequest", ""},
		{"authentication.k8s.io/v1", "TokenReview", `, spec: {token: a}`}, {"authorization.k8s.io/v1", "SubjectAccessReview", `, spec: {user: a, nonResourceAttributes: {path: /, verb: get}}`},
	} {
		add(k[0], k[1], k[2], "")
	}
	return targets
}
