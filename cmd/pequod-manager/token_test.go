package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
)

// graphWith is a graph in a namespace with labels and with fields of its spec.
func graphWith(namespace, labels, spec string) string {
	return `{apiVersion: platform.pequod.io/v1alpha1, kind: ResourceGraph, metadata: {name: NAME, namespace: ` + namespace + `, labels: {` + labels + `}}, spec: {` + spec + `
sourceRef: {apiVersion: x/v1, kind: X, name: x}, platformRef: {module: x}, renderHash: "", graph: {nodes: [{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]}}}`
}

// operated is the label of the graphs that the manager makes.
const operated = `pequod.io/managed-by-operator: "true"`

// enforced waits until the policy is in force, which it is some time after it is stored: a graph that
// pequod-applier would execute is refused.
func enforced(t *testing.T, c *harness.Cluster, access *rest.Config) {
	t.Helper()
	client, err := dynamic.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(strings.ReplaceAll(graphWith(c.Namespace, "", ""), "NAME", "early"))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := client.Resource(graphs).Namespace(c.Namespace).Patch(ctx, "early", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "test", DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "pequod-applier doesn't execute") {
			return nil
		}
		return errors.Join(errors.New("the policy isn't in force"), err)
	})
}

// graphTargets are graphs of a namespace in which the manager may act as no account, and of one in
// which it may.
func graphTargets(namespace, agreed string) []harness.Target {
	return []harness.Target{
		// Those of pequod-applier, also with another value of the label.
		{Manifest: graphWith(namespace, "", ""), Allowed: "get list watch"},
		{Manifest: graphWith(namespace, "", ""), Allowed: "get list watch", Patch: `{"metadata": {"labels": {"pequod.io/managed-by-operator": "true"}}}`},
		{Manifest: graphWith(namespace, `pequod.io/managed-by-operator: "yes"`, "serviceAccountName: pequod,"), Allowed: "get list watch"},
		{Manifest: graphWith(agreed, "", "serviceAccountName: team,"), Allowed: "get list watch"},
		// Those of the manager.
		{Manifest: graphWith(namespace, operated, ""), Allowed: "get list watch create patch delete status"},
		{Manifest: graphWith(namespace, operated, ""), Allowed: "get list watch create delete status", Patch: `{"metadata": {"labels": {"pequod.io/managed-by-operator": null}}}`},
		{Manifest: graphWith(namespace, operated, ""), Allowed: "get list watch create delete status", Patch: `{"spec": {"serviceAccountName": "pequod"}}`},
		{Manifest: graphWith(namespace, operated, "serviceAccountName: pequod,"), Allowed: "get list watch patch delete status"},
		{Manifest: graphWith(namespace, operated, "serviceAccountName: pequod,"), Allowed: "get list watch delete status", Patch: `{"spec": {"suspend": true}}`},
		{Manifest: graphWith(agreed, operated, "serviceAccountName: team,"), Allowed: "get list watch create patch delete status", Patch: `{"spec": {"suspend": true}}`},
		{Manifest: graphWith(agreed, operated, "kubeConfig: {secretRef: {name: x}},"), Allowed: "get list watch patch delete status"},
		{Manifest: graphWith(agreed, operated, "kubeConfig: {secretRef: {name: x}},"), Allowed: "get list watch delete status", Patch: `{"spec": {"suspend": true}}`},
	}
}

// TestGraphsOfToken writes graphs with the manager's token: none that pequod-applier executes, and none with
// an account that the manager may not act as.
func TestGraphsOfToken(t *testing.T) {
	t.Parallel()
	c, access := deployed.Borrow(t)
	agreed := c.Unique("agreed")
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+agreed+"}}\n---"+strings.ReplaceAll(strings.ReplaceAll(team, "NAMESPACE", agreed), "metadata: {", "metadata: {namespace: "+agreed+", "))
	enforced(t, c, access)
	c.TryToken(t, access, graphTargets(c.Namespace, agreed))
}
