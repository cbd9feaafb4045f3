package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/process"
)

// TestOrganizationPolicy checks instances by a policy of --policy. A policy that can't be read
// leaves the platform with the former one, and one that has changed counts for all instances.
func TestOrganizationPolicy(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	file := filepath.Join(t.TempDir(), "policy.cue")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const atMost = `package org
#Policy: {
	input: {...}
	violations: [if input.spec.replicas > LIMIT {path: "spec.replicas", message: "at most LIMIT"}]
}
`
	limit := func(n string) { t.Helper(); write(strings.ReplaceAll(atMost, "LIMIT", n)) }
	limit("2")
	start(t, c, "--policy="+filepath.Dir(file))
	c.Apply(t, webService(process.Namespace))
	instance := func(name, replicas string) {
		t.Helper()
		c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: "+name+"}, spec: {image: 'ghcr.io/example/web:v1', port: 80, replicas: "+replicas+"}}")
	}
	is := func(name, status, reason string) {
		t.Helper()
		hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, name, "Ready", status, reason)
	}
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	request := func(value string) {
		t.Helper()
		patch := `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"` + value + `"}}}`
		if _, err := transforms.Patch(t.Context(), "webservice", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	transformIs := func(condition, status, reason string) {
		t.Helper()
		hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", condition, status, reason)
	}
	transformIs("Ready", "True", "")
	instance("small", "1")
	instance("large", "3")
	is("small", "True", "")
	is("large", "False", "PolicyViolation")

	// Without the policy nothing passes unchecked.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	request("1")
	transformIs("Ready", "False", "")
	instance("another", "4")
	is("another", "False", "PolicyViolation")
	is("small", "True", "")

	limit("3")
	request("2")
	transformIs("Ready", "True", "")
	is("large", "True", "")
	is("another", "False", "PolicyViolation")
}
