package controller_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
)

const webService = `
nodes:
- {id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: one}}}
- id: deployment
  dependencies: [config]
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: web:1}]}
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- id: address
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: address}, data: {a: {$from: service.spec.clusterIP}}}
outputs: {ip: {$from: service.spec.clusterIP}, fixed: 3}
`

func TestApplyToReady(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", webService))
	rg := b.ready("web")
	if rg.Status.Phase != "Completed" {
		t.Errorf("phase %s", rg.Status.Phase)
	}
	if got, want := phases(rg), "address Ready, config Ready, deployment Ready, service Ready"; got != want {
		t.Errorf("nodes %s; want %s", got, want)
	}
	if got, want := owned(rg), "ConfigMap address, ConfigMap web, Deployment web, Service web"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	for id, s := range rg.Status.NodeStates {
		if s.AppliedAt.IsZero() || s.ReadyAt.IsZero() {
			t.Errorf("node %s: applied at %v, ready at %v", id, s.AppliedAt, s.ReadyAt)
		}
	}
	if got := b.data(t.Context(), "address"); got == "" || got != string(trim(rg.Status.Outputs["ip"].Raw)) {
		t.Errorf("address %q; output %s", got, rg.Status.Outputs["ip"].Raw)
	}
	if got := string(rg.Status.Outputs["fixed"].Raw); got != "3" {
		t.Errorf("output fixed: %s", got)
	}
	if len(rg.Status.History) != 1 || rg.Status.History[0].Nodes != 4 || rg.Status.History[0].Created != 4 || rg.Status.History[0].Revision != 1 {
		t.Errorf("history: %+v", rg.Status.History)
	}
	for _, kind := range []string{"Reconciling", "Stalled"} {
		if c := meta.FindStatusCondition(rg.Status.Conditions, kind); c != nil {
			t.Errorf("condition %s is there: %+v", kind, c)
		}
	}
}

func trim(raw []byte) []byte { return raw[1 : len(raw)-1] }
