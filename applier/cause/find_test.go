package cause_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cause"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/test/harness"
)

// patience is far longer than any of the tests waits on an idle machine.
const patience = 90 * time.Second

// reader lists with client-go's dynamic client and counts the requests.
type reader struct {
	cluster *harness.Cluster
	lists   int
}

func (r *reader) ListObjects(ctx context.Context, gvk schema.GroupVersionKind, namespace, labels, fields string) ([]unstructured.Unstructured, error) {
	r.lists++
	client, err := r.cluster.Resource(gvk.GroupVersion().String(), gvk.Kind, namespace)
	if err != nil {
		return nil, err
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: labels, FieldSelector: fields})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func TestFind(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	late := c.Unique("late")
	c.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: missing}
spec:
  replicas: 3
  selector: {matchLabels: {app: missing}}
  template:
    metadata: {labels: {app: missing}}
    spec: {containers: [{name: app, image: "example.com/web:missing"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: crash}
spec:
  selector: {matchLabels: {app: crash}}
  template:
    metadata: {labels: {app: crash}}
    spec: {containers: [{name: app, image: "web:exit-3"}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: never}
spec:
  serviceName: never
  selector: {matchLabels: {app: never}}
  template:
    metadata: {labels: {app: never}}
    spec: {containers: [{name: app, image: "web:never-ready"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: large}
spec:
  replicas: 2
  selector: {matchLabels: {app: large}}
  template:
    metadata: {labels: {app: large}}
    spec: {containers: [{name: app, image: "web", resources: {requests: {cpu: 1k}}}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: init}
spec:
  selector: {matchLabels: {app: init}}
  template:
    metadata: {labels: {app: init}}
    spec:
      initContainers: [{name: setup, image: "setup:missing"}]
      containers: [{name: app, image: web}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  backoffLimit: 3
  template: {spec: {restartPolicy: Never, containers: [{name: app, image: "job:exit-7"}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], storageClassName: nowhere, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: `+late+`}
provisioner: example.com/none
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: late}
spec: {accessModes: [ReadWriteOnce], storageClassName: `+late+`, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec: {containers: [{name: app, image: "example.com/pod:missing"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: fine}
spec:
  selector: {matchLabels: {app: fine}}
  template:
    metadata: {labels: {app: fine}}
    spec: {containers: [{name: app, image: web}]}
`)
	for _, test := range []struct{ apiVersion, kind, name, want string }{
		{"apps/v1", "Deployment", "missing", `pod missing-\w+-\w+: image example.com/web:missing can't be pulled: not found; 3 pods alike`},
		{"apps/v1", "Deployment", "crash", `pod crash-\w+-\w+: container app is in a crash loop: it exited with 3`},
		{"apps/v1", "StatefulSet", "never", `pod never-0: container app runs, but isn't ready`},
		{"apps/v1", "Deployment", "large", `pod large-\w+-\w+: can't be scheduled: 0/2 nodes are available: 2 Insufficient cpu\..*; 2 pods alike`},
		{"apps/v1", "DaemonSet", "init", `pod init-\w+: image setup:missing can't be pulled: not found; 2 pods alike`},
		{"batch/v1", "Job", "job", `pod job-\w+: container app exited with 7(; \d pods alike)?`},
		{"v1", "PersistentVolumeClaim", "claim", `ProvisioningFailed: storageclass.storage.k8s.io "nowhere" not found`},
		{"v1", "PersistentVolumeClaim", "late", "Ready" + regexp.QuoteMeta(readiness.FirstConsumer)},
		{"v1", "Pod", "pod", `image example.com/pod:missing can't be pulled: not found`},
		{"apps/v1", "Deployment", "fine", ``},
	} {
		t.Run(test.kind+" "+test.name, func(t *testing.T) {
			expect(t, c, test.apiVersion, test.kind, test.name, test.want)
		})
	}
}

// expect waits until Find returns the wanted line, and checks that it sends at
// most two requests.
func expect(t *testing.T, c *harness.Cluster, apiVersion, kind, name, want string) {
	t.Helper()
	pattern := regexp.MustCompile("^" + want + "$")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		r := &reader{cluster: c}
		found, err := cause.Find(ctx, r, c.Get(t, apiVersion, kind, name), time.Now())
		if err != nil {
			return err
		}
		got := string(found.State) + found.Message
		if found.State == readiness.Degraded {
			got = found.Message // by now, which depends on the machine
		}
		if !pattern.MatchString(got) {
			return fmt.Errorf("got %q, want %s", got, want)
		}
		if r.lists > 2 {
			return fmt.Errorf("%d lists", r.lists)
		}
		return nil
	})
}

// The newest revision decides, not the newest Pod: a Deployment recreates Pods of
// its old revision while the new one isn't ready.
func TestFindNewestRevision(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	deployment := func(image string) string {
		return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "` + image + `"}]}
`
	}
	c.Apply(t, deployment("example.com/old:never-ready"))
	expect(t, c, "apps/v1", "Deployment", "web", `pod web-\w+-\w+: container app runs, but isn't ready; 2 pods alike`)
	c.Apply(t, deployment("example.com/new:missing"))
	wanted := regexp.MustCompile(`^pod web-\w+-\w+: image example.com/new:missing can't be pulled`)
	find := func(ctx context.Context) error {
		got, err := cause.Find(ctx, &reader{cluster: c}, c.Get(t, "apps/v1", "Deployment", "web"), time.Now())
		if err == nil && !wanted.MatchString(got.Message) {
			err = fmt.Errorf("got %q", got.Message)
		}
		return err
	}
	harness.Eventually(t, patience, find)
	pods, err := c.Client.CoreV1().Pods(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if strings.Contains(pod.Spec.Containers[0].Image, "old") {
			if err := c.Client.CoreV1().Pods(c.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		now, err := c.Client.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range now.Items {
			replaced := !slices.ContainsFunc(pods.Items, func(old corev1.Pod) bool { return old.UID == pod.UID })
			if replaced && strings.Contains(pod.Spec.Containers[0].Image, "old") && pod.Status.Phase == corev1.PodRunning {
				return find(ctx)
			}
		}
		return errors.New("no Pod of the old revision was recreated")
	})
}

func TestFindQuota(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	c.Apply(t, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: none}
spec: {hard: {pods: "0"}}
`)
	// A quota limits nothing before its controller has counted once.
	harness.Eventually(t, patience, func(context.Context) error {
		quota := c.Get(t, "v1", "ResourceQuota", "none")
		if _, counted, _ := unstructured.NestedString(quota.Object, "status", "used", "pods"); !counted {
			return fmt.Errorf("status %v", quota.Object["status"])
		}
		return nil
	})
	const template = `
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web}]}
`
	c.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:`+template+`---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db`+template)
	expect(t, c, "apps/v1", "Deployment", "web", `pods can't be created: pods "web-\w+-\w+" is forbidden: exceeded quota: none, .*`)
	expect(t, c, "apps/v1", "StatefulSet", "db", `pods can't be created: pods "db-0" is forbidden: exceeded quota: none, .*`)
}

func TestFindDeletion(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	name := c.Unique("held")
	c.Apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: `+name+`}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: `+name+`, finalizers: [example.com/hold]}
`)
	maps, err := c.Resource("v1", "ConfigMap", name)
	if err != nil {
		t.Fatal(err)
	}
	namespaces, err := c.Resource("v1", "Namespace", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		patch := []byte(`[{"op": "remove", "path": "/metadata/finalizers"}]`)
		if _, err := maps.Patch(context.Background(), "held", "application/json-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	if err := namespaces.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, c, "v1", "Namespace", name, `is being deleted: .*example.com/hold in 1 resource instances.*`)
	held, err := maps.Get(t.Context(), "held", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := cause.Find(t.Context(), &reader{cluster: c}, held, time.Now())
	if want := (readiness.Verdict{Message: "is being deleted, held by finalizer example.com/hold"}); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
