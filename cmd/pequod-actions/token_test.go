package main

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestToken tries the token of pequod-actions: by itself it has the rights of its ClusterRole and nothing else, and it
// acts as service accounts, with their rights, but not as users, groups or nodes.
func TestToken(t *testing.T) {
	t.Parallel()
	c, access := installed.Borrow(t)
	c.Apply(t, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: team}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: team}]
`)
	pequod := func(kind, allowed string) harness.Target {
		return harness.Target{Manifest: `{apiVersion: platform.pequod.io/v1alpha1, kind: ` + kind + `, metadata: {name: NAME}, spec: {}}`, Allowed: allowed, Live: "absent"}
	}
	namespaces := []string{c.Namespace, process.Namespace, "kube-system"}
	inside, outside := c.TryToken(t, access, append(harness.Kinds(map[string]string{
		"TokenReview": "create", "SubjectAccessReview": "create", "Lease pequod-system": "create",
	}, namespaces...), pequod("Action", "get list watch patch status"), pequod("Monitor", "get list watch status"), pequod("Receiver", "get list watch status")))
	try := func(user string, allowed map[string]string) {
		t.Helper()
		as := rest.CopyConfig(access)
		as.Impersonate.UserName = user
		more, refused := c.TryToken(t, as, harness.Kinds(allowed, namespaces...))
		inside, outside = inside+more, outside+refused
	}
	for _, user := range []string{"admin", "system:admin", "system:kube-controller-manager", "system:node:node-0", "system:serviceaccount:" + c.Namespace + ":default"} {
		try(user, nil)
	}
	const edited = "get list watch create update patch delete deletecollection"
	allowed := map[string]string{}
	for _, kind := range []string{
		"ConfigMap", "Secret", "Service", "PersistentVolumeClaim", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "NetworkPolicy", "PodDisruptionBudget",
	} {
		allowed[kind+" "+c.Namespace] = edited
	}
	allowed["ServiceAccount "+c.Namespace], allowed["Pod "+c.Namespace] = edited+" /token", edited+" /exec /eviction"
	allowed["Endpoints "+c.Namespace], allowed["Lease "+c.Namespace] = "get list watch", edited
	allowed["ControllerRevision "+c.Namespace], allowed["ResourceQuota "+c.Namespace], allowed["LimitRange "+c.Namespace] = "get list watch", "get list watch", "get list watch"
	try("system:serviceaccount:"+c.Namespace+":team", allowed)
	as := rest.CopyConfig(access)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + c.Namespace + ":team", Groups: []string{"system:masters"}}
	_, refused := c.TryToken(t, as, harness.Kinds(nil, c.Namespace))
	outside += refused
	t.Logf("%d requests inside of the roles, %d outside", inside, outside)
	if inside < 100 || outside < 500 {
		t.Errorf("%d requests inside of the roles, %d outside", inside, outside)
	}
}
