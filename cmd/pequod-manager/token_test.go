package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
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

// graphTargets are graphs of a namespace in which the token may act as no account, and of one in which
// only the manager may.
func graphTargets(namespace, agreed string, manager bool) []harness.Target {
	team := "get list watch create patch delete status"
	if !manager {
		team = "get list watch delete status"
	}
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
		{Manifest: graphWith(agreed, operated, "serviceAccountName: team,"), Allowed: team, Patch: `{"spec": {"suspend": true}}`},
		{Manifest: graphWith(agreed, operated, "kubeConfig: {secretRef: {name: x}},"), Allowed: "get list watch patch delete status"},
		{Manifest: graphWith(agreed, operated, "kubeConfig: {secretRef: {name: x}},"), Allowed: "get list watch delete status", Patch: `{"spec": {"suspend": true}}`},
	}
}

// everything are the verbs that write workloads and the objects of platforms.
const everything = "get list watch create update patch delete"

// definition is a CRD of a group.
func definition(group, metadata string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: NAMEs.` + group + `, ` + metadata + `}, spec: {group: ` + group + `, scope: Namespaced,
names: {kind: KNAME, listKind: KNAMEList, plural: NAMEs, singular: NAME}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
}

// Labels of objects that the manager generates, and of objects of graphs.
const (
	generated = `labels: {app.kubernetes.io/managed-by: pequod, pequod.io/generated-rbac: "true", pequod.io/transform: x}`
	managed   = `labels: {app.kubernetes.io/managed-by: pequod, pequod.io/managed: "true", pequod.io/graph: x, pequod.io/graph-namespace: x}`
	ofCRD     = `labels: {app.kubernetes.io/managed-by: pequod, pequod.io/managed: "true", pequod.io/transform: x, pequod.io/transform-namespace: pequod-system}`
)

// rbac is a role or a binding. fields are its metadata after the name, and its rules or its subjects.
func rbac(kind, metadata, fields string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: ` + kind + `, metadata: {name: "NAME", ` + metadata + `}, ` + fields + `}`
}

// transformed binds an account of a Transform, and bound another one.
const (
	configmaps  = `rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, create]}]`
	transformed = `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: x}, subjects: [{kind: ServiceAccount, name: pequod-transform-x, namespace: pequod-system}]`
	bound       = `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: x}, subjects: [{kind: ServiceAccount, name: team, namespace: pequod-system}]`
)

// ownTargets are objects of the kinds that the policy pequod-manager limits, apart from graphs: Pequod's, and others.
func ownTargets(c *harness.Cluster) []harness.Target {
	const read, own, owned, external = "get list watch", "get list watch create patch delete", "get list watch create update patch delete status", "get list watch create patch status"
	artifact := func(source string) string {
		return `{apiVersion: source.toolkit.fluxcd.io/v1, kind: ExternalArtifact, metadata: {name: NAME}, spec: {sourceRef: {` + source + `, name: x, namespace: x}}}`
	}
	secret := func(kind string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {name: NAME, namespace: pequod-system, annotations: {kubernetes.io/service-account.name: pequod-controller-manager}}, type: ` + kind + `}`
	}
	targets := []harness.Target{
		{Manifest: definition(c.Unique("g")+".example.com", ofCRD), Allowed: owned},
		{Manifest: definition(c.Unique("g")+".example.com", ofCRD), Allowed: strings.Replace(owned, " patch", "", 1), Patch: `{"metadata": {"labels": {"pequod.io/transform": null}}}`},
		{Manifest: definition(c.Unique("g")+".example.com", "labels: {}"), Allowed: read},
		{Manifest: definition(c.Unique("g")+".example.com", managed), Allowed: read, Patch: `{"metadata": {"labels": {"pequod.io/transform": "x"}}}`},
		{Manifest: definition(c.Unique("g")+".example.com", "labels: {}"), Allowed: read, Patch: `{"spec": {"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/"}}}}}`},
		{Manifest: definition(c.Unique("g")+".example.com", `annotations: {pequod.io/adopt-by: pequod-system/x}`), Allowed: read},
		{Manifest: definition(c.Unique("g")+".example.com", `annotations: {pequod.io/adopt-by: pequod-system/x}`), Allowed: read + " patch", Patch: `{"metadata": {"labels": {"pequod.io/transform": "x"}}}`},
		{Manifest: definition("platform.pequod.io", ofCRD), Allowed: read},
		{Manifest: definition("platform.pequod.io", ofCRD), Allowed: read, Live: "resourcegraph"},
		{Manifest: artifact("apiVersion: platform.pequod.io/v1alpha1, kind: InstanceSource"), Allowed: external},
		{Manifest: artifact("apiVersion: example.com/v1, kind: InstanceSource"), Allowed: read},
		{Manifest: artifact("apiVersion: example.com/v1, kind: Source"), Allowed: read, Patch: `{"spec": {"sourceRef": {"apiVersion": "platform.pequod.io/v1alpha1", "kind": "InstanceSource"}}}`},
		{Manifest: secret("Opaque"), Allowed: "get"},
		{Manifest: secret("kubernetes.io/service-account-token"), Allowed: "get"},
	}
	for _, kind := range []string{"ClusterRole", "Role"} {
		targets = append(targets,
			harness.Target{Manifest: rbac(kind, generated, configmaps), Allowed: own},
			harness.Target{Manifest: rbac(kind, generated, configmaps), Allowed: "get list watch create delete", Patch: `{"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}}`},
			harness.Target{Manifest: rbac(kind, generated, configmaps), Allowed: "get list watch create delete", Patch: `{"metadata": {"labels": {"pequod.io/generated-rbac": null}}}`},
			harness.Target{Manifest: rbac(kind, generated, `rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]`), Allowed: "get list watch delete", Patch: `{"metadata": {"labels": {"a": "b"}}}`},
			harness.Target{Manifest: rbac(kind, "labels: {}", configmaps), Allowed: read},
			harness.Target{Manifest: rbac(kind, managed, configmaps), Allowed: read, Patch: `{"metadata": {"labels": {"pequod.io/generated-rbac": "true"}}}`},
			harness.Target{Manifest: rbac(kind+"Binding", generated, transformed), Allowed: own},
			harness.Target{Manifest: rbac(kind+"Binding", generated, transformed), Allowed: "get list watch create delete", Patch: `{"subjects": [{"kind": "ServiceAccount", "name": "team", "namespace": "pequod-system"}]}`},
			harness.Target{Manifest: rbac(kind+"Binding", generated, bound), Allowed: read},
			harness.Target{Manifest: rbac(kind+"Binding", "labels: {}", transformed), Allowed: read},
			harness.Target{Manifest: rbac(kind+"Binding", managed, transformed), Allowed: read, Patch: `{"metadata": {"labels": {"pequod.io/generated-rbac": "true"}}}`},
		)
	}
	return targets
}

// existing are ClusterRoles that bindings refer to.
const existing = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "pequod:transform:a:b"}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}`

// fluxKinds applies stand-ins for the kinds of Flux.
func fluxKinds(t *testing.T, c *harness.Cluster) {
	t.Helper()
	for _, file := range []string{"externalartifacts.yaml", "sources.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "operator", "source", "testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, string(text))
	}
}

// transformTargets are the same for an account of a Transform to which the manager gives all rights that the
// policy limits: objects of graphs, and others.
func transformTargets(c *harness.Cluster) []harness.Target {
	const read, own, owned = "get list watch", "get list watch create patch delete", "get list watch create update patch delete status"
	const grants = `rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [get, create]}]`
	const graphs = `rules: [{apiGroups: [platform.pequod.io], resources: [resourcegraphs], verbs: [create]}]`
	const reads = `rules: [{apiGroups: [platform.pequod.io], resources: [resourcegraphs], verbs: [get]}]`
	to := func(kind, name string) string {
		return `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ` + kind + `, name: "` + name + `"}, subjects: [{kind: ServiceAccount, name: team, namespace: pequod-system}]`
	}
	targets := []harness.Target{
		{Manifest: definition(c.Unique("h")+".example.com", managed), Allowed: owned},
		{Manifest: definition(c.Unique("h")+".example.com", managed), Allowed: owned, Patch: `{"metadata": {"labels": {"pequod.io/managed": null}}}`},
		{Manifest: definition(c.Unique("h")+".example.com", "labels: {}"), Allowed: read},
		{Manifest: definition(c.Unique("h")+".example.com", "labels: {}"), Allowed: read, Patch: `{"metadata": {"labels": {"pequod.io/managed": "true"}}}`},
		{Manifest: definition(c.Unique("h")+".example.com", "annotations: {pequod.io/adopt-by: pequod-system/x}"), Allowed: read, Patch: `{"metadata": {"labels": {"pequod.io/managed": "true", "pequod.io/transform": "x"}}}`},
		{Manifest: definition("platform.pequod.io", managed), Allowed: read, Live: "transform"},
	}
	for _, kind := range []string{"ClusterRole", "Role"} {
		targets = append(targets,
			harness.Target{Manifest: rbac(kind, managed, configmaps), Allowed: own},
			harness.Target{Manifest: rbac(kind, managed, reads), Allowed: own},
			harness.Target{Manifest: rbac(kind, managed, grants), Allowed: "get list watch delete"},
			harness.Target{Manifest: rbac(kind, managed, graphs), Allowed: "get list watch delete"},
			harness.Target{Manifest: rbac(kind, "labels: {}", configmaps), Allowed: read, Patch: `{"metadata": {"labels": {"pequod.io/managed": "true"}}}`},
			harness.Target{Manifest: rbac(kind, generated, configmaps), Allowed: read},
			harness.Target{Manifest: rbac(kind+"Binding", managed, to("ClusterRole", "x")), Allowed: own},
			harness.Target{Manifest: rbac(kind+"Binding", managed, to("ClusterRole", "pequod:transform:a:b")), Allowed: "get list watch delete"},
			harness.Target{Manifest: rbac(kind+"Binding", managed, to("ClusterRole", "pequod-manager")), Allowed: "get list watch delete"},
			harness.Target{Manifest: rbac(kind+"Binding", "labels: {}", to("ClusterRole", "x")), Allowed: read},
			harness.Target{Manifest: rbac(kind+"Binding", generated, to("ClusterRole", "x")), Allowed: read, Patch: `{"metadata": {"labels": {"pequod.io/managed": "true"}}}`},
		)
	}
	return targets
}

// asTransform has the token give an account of a Transform its own rights, as a thief can, and returns
// access as this account.
func asTransform(t *testing.T, c *harness.Cluster, access *rest.Config) *rest.Config {
	t.Helper()
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	own, err := c.Client.RbacV1().ClusterRoles().Get(t.Context(), "pequod-manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const account = "pequod-transform-thief"
	meta := metav1.ObjectMeta{Name: "pequod:transform:" + c.Namespace + ":thief", Labels: roles.Selector()}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: append(own.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create"}})}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: process.Namespace}},
	}
	list(t, client, account)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, first := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		_, second := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(second) {
			return nil
		}
		return errors.Join(errors.New("not there yet"), first, second)
	})
	as := rest.CopyConfig(access)
	as.Impersonate.UserName = "system:serviceaccount:" + process.Namespace + ":" + account
	c.ServiceAccount(t, process.Namespace, account)
	return as
}

// list lists an account in the Role that lets the manager act as it, and tries what else a thief might write there.
func list(t *testing.T, client kubernetes.Interface, account string) {
	t.Helper()
	role := func(name, group, resource, verb string, names ...string) *rbacv1.Role {
		return &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: roles.Selector()}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: names,
		}}}
	}
	const listing = "pequod-manager-transforms"
	write := func(r *rbacv1.Role) error {
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.RbacV1().Roles(process.Namespace).Patch(t.Context(), r.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "thief"})
		return err
	}
	for range 2 { // the Role doesn't exist, and it does
		for _, r := range []*rbacv1.Role{
			role(listing, "", "serviceaccounts", "impersonate"), role(listing, "", "serviceaccounts", "impersonate", "pequod-applier"),
			role(listing, "", "serviceaccounts", "impersonate", account, "pequod-applier"), role(listing, "", "serviceaccounts", "*", account),
			role(listing, "", "users", "impersonate", account), role(listing, "*", "serviceaccounts", "impersonate", account),
			role(listing, "", "secrets", "list"), role("pequod-manager-others", "", "serviceaccounts", "impersonate", "pequod-transform-other"),
		} {
			if err := write(r); !apierrors.IsForbidden(err) {
				t.Errorf("%s with %v: %v", r.Name, r.Rules, err)
			}
		}
		if err := write(role(listing, "", "serviceaccounts", "impersonate", account)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOwnObjectsOfToken writes CRDs, roles, bindings, ExternalArtifacts and Secrets with the manager's token, and
// as an account of a Transform: only Pequod's own.
func TestOwnObjectsOfToken(t *testing.T) {
	t.Parallel()
	c, access := deployed.Install(t)
	fluxKinds(t, c)
	c.Apply(t, existing)
	enforced(t, c, access)
	c.TryToken(t, access, ownTargets(c))
	as := asTransform(t, c, access)
	enforced(t, c, as)
	c.TryToken(t, as, slices.Concat(transformTargets(c), graphTargets(c.Namespace, process.Namespace, false)))
}

// TestGraphsOfToken writes graphs with the manager's token: none that pequod-applier executes, and none with
// an account that the manager may not act as.
func TestGraphsOfToken(t *testing.T) {
	t.Parallel()
	c, access := deployed.Borrow(t)
	agreed := c.Unique("agreed")
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+agreed+"}}\n---"+strings.ReplaceAll(strings.ReplaceAll(team, "NAMESPACE", agreed), "metadata: {", "metadata: {namespace: "+agreed+", "))
	enforced(t, c, access)
	c.TryToken(t, access, graphTargets(c.Namespace, agreed, true))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		policy, err := c.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, "pequod-manager", metav1.GetOptions{})
		if err == nil && policy.Status.TypeChecking == nil {
			err = errors.New("the types of its expressions aren't checked yet")
		}
		if err == nil && len(policy.Status.TypeChecking.ExpressionWarnings) > 0 {
			t.Errorf("%+v", policy.Status.TypeChecking.ExpressionWarnings)
		}
		return err
	})
}

// TestToken tries the manager's token on everything that the policy doesn't limit: it has the rights of the table in
// docs/operations.md, and acts as the accounts of namespaces that agreed.
func TestToken(t *testing.T) {
	t.Parallel()
	c, access := deployed.Install(t)
	c.Apply(t, string(config.Applier))
	c.Apply(t, string(config.Actions))
	fluxKinds(t, c)
	agreed := c.Unique("agreed")
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+agreed+"}}\n---"+strings.ReplaceAll(strings.ReplaceAll(team, "NAMESPACE", agreed), "metadata: {", "metadata: {namespace: "+agreed+", "))
	enforced(t, c, access)
	namespaces := []string{c.Namespace, process.Namespace, "kube-system"}
	pequod := func(kind, allowed string) harness.Target {
		return harness.Target{Manifest: `{apiVersion: platform.pequod.io/v1alpha1, kind: ` + kind + `, metadata: {name: NAME}, spec: {}}`, Allowed: allowed, Live: "absent"}
	}
	const source = `{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: NAME}}`
	targets := append(harness.Kinds(map[string]string{
		"ConfigMap": everything, "Service": everything, "ServiceAccount": everything, "PersistentVolumeClaim": everything,
		"Deployment": everything, "StatefulSet": everything, "DaemonSet": everything, "Job": everything, "CronJob": everything,
		"NetworkPolicy": everything, "PodDisruptionBudget": everything,
		"Pod": "get list watch /exec /eviction", "ReplicaSet": "get list watch",
		"Secret pequod-system": "get", "ControllerRevision pequod-system": "get list watch create delete", "Lease pequod-system": "create",
		// Objects without Pequod's labels are refused when they are written.
		"Role": "get list watch patch delete", "RoleBinding": "get list watch patch delete", "ClusterRole": "get list watch patch delete", "ClusterRoleBinding": "get list watch patch delete",
		"TokenReview": "create", "SubjectAccessReview": "create",
	}, namespaces...),
		pequod("Transform", "get list watch patch status"), pequod("InstanceSource", "get list watch status"), pequod("Receiver", ""),
		harness.Target{Manifest: source, Allowed: "get list watch", Live: "absent"},
	)
	inside, outside := c.TryToken(t, access, targets)
	// The token may not impersonate users, nodes, accounts of namespaces without the RoleBinding
	// pequod-manager-impersonate, or others of its own namespace than those of Transforms.
	users := []string{"admin", "system:admin", "system:kube-controller-manager", "system:node:node-0"}
	for _, account := range []string{
		c.Namespace + ":default", "default:pequod", "kube-system:namespace-controller", "kube-system:generic-garbage-collector", "flux-system:kustomize-controller",
		process.Namespace + ":pequod-applier", process.Namespace + ":pequod-actions", process.Namespace + ":default", process.Namespace + ":pequod-transform-x",
	} {
		users = append(users, "system:serviceaccount:"+account)
	}
	for _, user := range users {
		as := rest.CopyConfig(access)
		as.Impersonate.UserName = user
		_, refused := c.TryToken(t, as, harness.Kinds(nil, c.Namespace))
		outside += refused
	}
	as := rest.CopyConfig(access)
	as.Impersonate.UserName = "system:serviceaccount:" + agreed + ":team"
	allowed, refused := c.TryToken(t, as, harness.Kinds(map[string]string{"ConfigMap " + agreed: everything + " deletecollection"}, c.Namespace, "kube-system", agreed)[:3])
	inside, outside = inside+allowed, outside+refused
	t.Logf("%d requests inside of the roles, %d outside", inside, outside)
	if inside < 200 || outside < 500 {
		t.Errorf("%d requests inside of the roles, %d outside", inside, outside)
	}
}

// TestDefinitionIsAdopted lets a manager as it is installed take over a CRD of others, with the consent of both
// sides, restore a field that others have added, and delete the CRD with the Transform.
func TestDefinitionIsAdopted(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Borrow(t)
	foreign := strings.ReplaceAll(strings.ReplaceAll(definition("pequod.io", "annotations: {pequod.io/adopt-by: pequod-system/memo}"), "KNAME", "Memo"), "NAME", "memo")
	c.Apply(t, strings.ReplaceAll(foreign, "name: v1,", "name: v1alpha1,"))
	enforced(t, c, c.ServiceAccount(t, process.Namespace, deployed.Account))
	start(t, c)
	c.Apply(t, strings.Replace(memoTransform, "group: apps.example.com", "adoptCRDs: [memos.pequod.io]", 1))
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		transform, err := transforms.Get(ctx, "memo", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, digest, found := strings.Cut(fmt.Sprint(transform.Object["status"]), "set spec.approvedBreakingDigest to ")
		if !found {
			return fmt.Errorf("no version waits for an approval: %v", transform.Object["status"])
		}
		set(t, c, graphs.GroupVersion().WithResource("transforms"), process.Namespace, "memo", `{"spec": {"approvedBreakingDigest": "`+strings.Fields(digest)[0]+`"}}`)
		return nil
	})
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "memo", "Ready", "True", "")
	set(t, c, crds, "", "memos.pequod.io", `{"spec": {"names": {"shortNames": ["others"]}}}`)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		crd, err := c.Dynamic.Resource(crds).Get(ctx, "memos.pequod.io", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if names, _, _ := unstructured.NestedMap(crd.Object, "spec", "names"); names["shortNames"] != nil {
			return fmt.Errorf("names %v", names)
		}
		return nil
	})
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "memo", "Ready", "True", "")
	if err := transforms.Delete(t.Context(), "memo", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := c.Dynamic.Resource(crds).Get(ctx, "memos.pequod.io", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the CRD isn't gone"), err)
	})
}
