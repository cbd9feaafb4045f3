package harness_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

// patience is far more than anything here takes on an idle machine.
const patience = 3 * time.Minute

func TestDeployment(t *testing.T) {
	t.Parallel()
	c := start(t)
	deploy := func(image string) {
		c.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "`+image+`"}]}
`)
	}
	deploy("web:1")
	harness.Eventually(t, patience, func(ctx context.Context) error { return c.available(ctx, "web", 3) })

	t.Run("its Pods have addresses of their own", func(t *testing.T) {
		addresses := map[string]bool{}
		for _, pod := range c.pods(t, "app=web") {
			addresses[pod.Status.PodIP] = true
		}
		if len(addresses) != 3 || addresses[""] {
			t.Errorf("addresses: %v", addresses)
		}
	})
	t.Run("an update is rolled out", func(t *testing.T) {
		deploy("web:2")
		harness.Eventually(t, patience, func(ctx context.Context) error {
			for _, pod := range c.pods(t, "app=web") {
				if image := pod.Spec.Containers[0].Image; image != "web:2" {
					return fmt.Errorf("%s: image %s", pod.Name, image)
				}
			}
			return c.available(ctx, "web", 3)
		})
	})
	t.Run("one whose image is missing makes no progress", func(t *testing.T) {
		deploy("web:missing")
		harness.Eventually(t, patience, func(ctx context.Context) error {
			web, err := c.Client.AppsV1().Deployments(c.Namespace).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range web.Status.Conditions {
				if condition.Reason == "ProgressDeadlineExceeded" {
					return nil
				}
			}
			return fmt.Errorf("conditions: %+v", web.Status.Conditions)
		})
	})
}

func TestStatefulSetWithVolumes(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		db, err := c.Client.AppsV1().StatefulSets(c.Namespace).Get(ctx, "db", metav1.GetOptions{})
		if err != nil || db.Status.AvailableReplicas == 2 {
			return err
		}
		return fmt.Errorf("status: %+v", db.Status)
	})
	for _, name := range []string{"data-db-0", "data-db-1"} {
		claim, err := c.Client.CoreV1().PersistentVolumeClaims(c.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if claim.Status.Phase != corev1.ClaimBound {
			t.Errorf("%s is %s", name, claim.Status.Phase)
		}
	}
}

func TestDaemonSet(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:1"}]}
`)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		agent, err := c.Client.AppsV1().DaemonSets(c.Namespace).Get(ctx, "agent", metav1.GetOptions{})
		if err != nil || agent.Status.NumberReady == 2 {
			return err
		}
		return fmt.Errorf("status: %+v", agent.Status)
	})
	nodes := map[string]bool{}
	for _, pod := range c.pods(t, "app=agent") {
		nodes[pod.Spec.NodeName] = true
	}
	if len(nodes) != 2 {
		t.Errorf("on nodes %v", nodes)
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: done}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: job, image: "job:1"}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: failed}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {testcluster.pequod.io/exit-code: "3"}}
    spec: {restartPolicy: Never, containers: [{name: job, image: "job:1"}]}
`)
	for name, want := range map[string]string{"done": "Complete", "failed": "Failed"} {
		harness.Eventually(t, patience, func(ctx context.Context) error {
			job, err := c.Client.BatchV1().Jobs(c.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range job.Status.Conditions {
				if string(condition.Type) == want && condition.Status == corev1.ConditionTrue {
					return nil
				}
			}
			return fmt.Errorf("%s: conditions: %+v", name, job.Status.Conditions)
		})
	}
	pods := c.pods(t, "batch.kubernetes.io/job-name=failed")
	if len(pods) != 1 || pods[0].Status.ContainerStatuses[0].State.Terminated.ExitCode != 3 {
		t.Errorf("the failed Job's Pods: %+v", pods)
	}
}

func TestLoadBalancer(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: soon}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: never, annotations: {testcluster.pequod.io/ready-after: never}}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
`)
	address := func(ctx context.Context, name string) error {
		service, err := c.Client.CoreV1().Services(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil || len(service.Status.LoadBalancer.Ingress) == 1 && service.Status.LoadBalancer.Ingress[0].IP != "" {
			return err
		}
		return errors.New("no address")
	}
	harness.Eventually(t, patience, func(ctx context.Context) error { return address(ctx, "soon") })
	if err := address(t.Context(), "never"); err == nil {
		t.Error("the Service that never gets an address got one")
	}
}

func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	c := start(t)
	name := c.Unique("going")
	c.Apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: `+name+`}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: `+name+`}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`)
	if err := c.Client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := c.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there (error: %v)", err)
	})
}
