package main

import (
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/process"
)

// queues is a platform whose instances can't be rendered with 13 days.
const queues = `
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: queue, namespace: pequod-system}
spec:
  managedResources: [{apiGroup: "", resources: [configmaps]}]
  cueRef:
    type: inline
    files:
    - name: queue.cue
      content: |
        package queue

        #Platform: kind: "Queue"
        #Input: days: int
        #Render: {
        	input: {metadata: {name: string, namespace: string}, spec: #Input}
        	output: nodes: config: resource: {
        		apiVersion: "v1"
        		kind: "ConfigMap"
        		metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
        		data: days: "\(input.spec.days)" & !="13"
        	}
        }
`

// TestEventsOfInstances sends what happens to an instance of a platform that Flux has applied, with the manager:
// it can't be rendered, then its graph is complete. Both are reported as the Kustomization. pequod-actions may read
// neither the instance nor its kind.
func TestEventsOfInstances(t *testing.T) {
	t.Parallel()
	e := notifying(t)
	c := collect(t)
	e.Apply(t, string(operator.Manifests))
	operator.Start(t, e.Cluster, e.ServiceAccount(t, process.Namespace, operator.Account))
	e.run(t, "--events-addr="+c.URL).Ready(t)
	e.Apply(t, queues)
	e.Await(t, "pequod.io/v1alpha1", "Queue", "")
	instance := func(days string) {
		e.Apply(t, `
apiVersion: pequod.io/v1alpha1
kind: Queue
metadata: {name: jobs, labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec: {days: `+days+`}
`)
	}
	instance("13")
	got := c.about(t, "Kustomization/apps", "CueRenderFailed")
	if !strings.HasPrefix(got.Message, "Queue "+e.Namespace+"/jobs: ") || got.Severity != "error" || got.InvolvedObject.Namespace != "flux-system" {
		t.Errorf("the event: %+v", got)
	}
	instance("1")
	got = c.about(t, "Kustomization/apps", "Completed")
	if !strings.HasPrefix(got.Message, "ResourceGraph "+e.Namespace+"/jobs-") || !strings.Contains(got.Message, "generation 1") {
		t.Errorf("the event: %+v", got)
	}
	for _, event := range c.fluxEvents(t) {
		if event.InvolvedObject.Kind == "Queue" || event.InvolvedObject.Kind == "ResourceGraph" {
			t.Errorf("not reported as the Kustomization: %+v", event)
		}
	}
	c.search(t, e.Cluster)
}
