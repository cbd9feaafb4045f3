package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestOrphanedGraphs deletes a Transform whose kind stays. The graph of an instance is executed as
// before, and deletes its objects with the instance.
func TestOrphanedGraphs(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	start(t, c)
	c.Apply(t, strings.Replace(webService(process.Namespace), "managedResources:", "crdDeletionPolicy: Orphan, managedResources:", 1))
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 80, replicas: 2}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	if err := transforms.Delete(t.Context(), "webservice", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := transforms.Get(ctx, "webservice", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Transform isn't gone"), err)
		}
		return nil
	})

	deployments := c.Client.AppsV1().Deployments(c.Namespace)
	former, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	if err == nil {
		err = deployments.Delete(t.Context(), "web", metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		again, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && again.UID == former.UID {
			err = errors.New("the Deployment isn't deleted yet")
		}
		return err
	})
	instances := c.Await(t, "pequod.io/v1alpha1", "WebService", c.Namespace)
	if err := instances.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Deployment isn't gone"), err)
		}
		return nil
	})
}

// TestWaitingTransform restarts the manager, with an empty cache, while a deleted Transform waits for
// its instance: a change of the instance is executed, and the Transform goes when it is gone.
func TestWaitingTransform(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	p := start(t, c)
	c.Apply(t, webService(process.Namespace))
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	const web = "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 80, replicas: 2}}"
	c.Apply(t, web)
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	if err := transforms.Delete(t.Context(), "webservice", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "False", "InstancesExist")
	p.Stop(t)
	start(t, c)
	c.Apply(t, strings.Replace(web, "replicas: 2", "replicas: 3", 1))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		deployment, err := c.Client.AppsV1().Deployments(c.Namespace).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && *deployment.Spec.Replicas != 3 {
			err = errors.New("the change isn't executed")
		}
		return err
	})
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	instances := c.Await(t, "pequod.io/v1alpha1", "WebService", c.Namespace)
	if err := instances.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := transforms.Get(ctx, "webservice", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Transform isn't gone"), err)
		}
		return nil
	})
}
