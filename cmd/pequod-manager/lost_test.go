package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestDefinitionDeleted deletes the CRD of a platform by hand. The objects of its instances stay, and the
// instances take them over when they are applied again. An instance that is deleted by itself takes its
// objects along, before and after that.
func TestDefinitionDeleted(t *testing.T) {
	t.Parallel()
	const instances = 8
	c, _ := deployed.Install(t)
	p := start(t, c)
	c.Apply(t, webService(process.Namespace))
	transformReady(t, c, "webservice", "True", "Succeeded")
	name := func(i int) string { return fmt.Sprint("web", i) }
	apply := func() {
		t.Helper()
		for i := range instances {
			c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: "+name(i)+"}, spec: {image: 'ghcr.io/example/web:v1', port: 8080, replicas: 1}}")
		}
		for i := range instances {
			hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, name(i), "Ready", "True", "")
		}
	}
	apply()
	deployments := c.Client.AppsV1().Deployments(c.Namespace)
	uids := map[string]types.UID{}
	for i := range instances {
		made, err := deployments.Get(t.Context(), name(i), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		uids[name(i)] = made.UID
	}
	definitions := c.Await(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	former, err := definitions.Get(t.Context(), "webservices.pequod.io", metav1.GetOptions{})
	if err == nil {
		err = definitions.Delete(t.Context(), "webservices.pequod.io", metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	const lost = "CustomResourceDefinition webservices.pequod.io was deleted, and all instances with it"
	transformEvent(t, c, "webservice", "InstancesLost", lost)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		now, err := definitions.Get(ctx, "webservices.pequod.io", metav1.GetOptions{})
		if err == nil && now.GetUID() == former.GetUID() {
			err = errors.New("the CRD isn't applied again")
		}
		return err
	})
	graphs := c.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", c.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		left, err := graphs.List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d graphs are left", len(left.Items))
		}
		return err
	})
	harness.Eventually(t, patience, func(context.Context) error {
		if message := transformReady(t, c, "webservice", "False", "InstancesLost"); !strings.Contains(message, "apply the instances again") {
			return errors.New(message)
		}
		return nil
	})
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "InstancesLost", "True", "DefinitionDeleted")
	same := func() {
		t.Helper()
		for i := range instances {
			if now, err := deployments.Get(t.Context(), name(i), metav1.GetOptions{}); err != nil || now.UID != uids[name(i)] || now.DeletionTimestamp != nil {
				t.Errorf("Deployment %s: %v", name(i), err)
			}
		}
	}
	same()
	apply()
	transformReady(t, c, "webservice", "True", "Succeeded")
	same()

	// One instance is deleted alone.
	if err := c.Await(t, "pequod.io/v1alpha1", "WebService", c.Namespace).Delete(t.Context(), name(0), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := deployments.Get(ctx, name(0), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Deployment isn't gone"), err)
		}
		return nil
	})

	// The graphs are removed while the manager is stopped.
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := definitions.Delete(t.Context(), "webservices.pequod.io", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		left, err := graphs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, g := range left.Items {
			if g.GetDeletionTimestamp() == nil {
				return fmt.Errorf("graph %s isn't being deleted", g.GetName())
			}
			if _, err := graphs.Patch(ctx, g.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
	start(t, c)
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "InstancesLost", "True", "DefinitionDeleted")
}
