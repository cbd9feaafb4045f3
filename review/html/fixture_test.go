package html

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review"
)

// service is an instance of the fixture: the graph that a module renders from its values.
type service struct {
	name, namespace, image string
	replicas               int
	password, storage      string
	broken                 bool
}

const graphTemplate = `
metadata: {name: %[1]s-1a2b3c4d, namespace: %[2]s}
spec:
  sourceRef: {apiVersion: acme.io/v1, kind: WebService, name: %[1]s, namespace: %[2]s}
  graph:
    nodes:
    - id: credentials
      resource:
        apiVersion: v1
        kind: Secret
        metadata: {name: %[1]s-credentials, namespace: %[2]s}
        stringData: {password: %[5]q}
    - id: settings
      resource:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: %[1]s-settings, namespace: %[2]s}
        data:
          app.conf: |
            listen 8080
            workers %[4]d
            log info
    - id: database
      resource:
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: %[1]s-db, namespace: %[2]s}
        spec:
          serviceName: %[1]s-db
          selector: {matchLabels: {app: %[1]s-db}}
          template:
            metadata: {labels: {app: %[1]s-db}}
            spec: {containers: [{name: postgres, image: "postgres:17.2"}]}
          volumeClaimTemplates:
          - metadata: {name: data}
            spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: %[6]s}}}
      dependencies: [credentials]
    - id: app
      resource:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: %[1]s, namespace: %[2]s}
        spec:
          replicas: %[4]d
          selector: {matchLabels: {app: %[1]s}}
          template:
            metadata: {labels: {app: %[1]s}}
            spec:
              containers:
              - name: app
                image: %[3]s
                ports: [{containerPort: 8080}]
                resources: {requests: {cpu: 100m, memory: 128Mi}}
              volumes:
              - name: settings
                configMap: {name: %[1]s-settings}
      dependencies: [settings, database]
      readyWhen: [{type: DeploymentAvailable}]
    - id: service
      resource:
        apiVersion: v1
        kind: Service
        metadata: {name: %[1]s, namespace: %[2]s}
        spec: {selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080}]}
      dependencies: [app]
    - id: route
      resource:
        apiVersion: networking.k8s.io/v1
        kind: Ingress
        metadata: {name: %[1]s, namespace: %[2]s}
        spec: {rules: [{host: %[1]s.example.com}]}
      dependencies: [service]
`

func (s service) unit(t testing.TB, line int) review.Unit {
	t.Helper()
	file := "apps/" + s.namespace + "/" + s.name + ".yaml"
	u := review.Unit{
		Instance: objectdiff.Instance{Kind: "WebService", Namespace: s.namespace, Name: s.name, File: file, Graph: s.name + "-1a2b3c4d"},
		APIGroup: "acme.io", Path: file, At: problem.Position{File: file, Line: line, Column: 1},
	}
	if s.broken {
		u.Problems = problem.List{{
			Position: problem.Position{File: file, Line: 7, Column: 9}, Path: "spec.port", Rule: problem.RuleType,
			Message: "70000 is not <=65535", Hint: "ports end at 65535",
		}}
		return u
	}
	text := fmt.Sprintf(graphTemplate, s.name, s.namespace, s.image, s.replicas, s.password, s.storage)
	u.Graph = &v1alpha1.ResourceGraph{}
	if err := yaml.UnmarshalStrict([]byte(text), u.Graph); err != nil {
		t.Fatal(err)
	}
	return u
}

// side renders services. change may change each of them; false leaves it out.
func side(t testing.TB, name string, count int, change func(int, *service) bool) review.Tree {
	t.Helper()
	tree := review.Tree{Side: review.Side{Name: name, Tool: "pequod v1.4.0"}}
	for i := range count {
		s := service{
			name: fmt.Sprintf("web-%03d", i), namespace: []string{"shop", "payments", "search"}[i%3],
			image: "registry.example.com/web:1.4.0", replicas: 3, password: "hunter2", storage: "10Gi",
		}
		if change(i, &s) {
			tree.Units = append(tree.Units, s.unit(t, 1))
		}
	}
	return tree
}

// report has changes of every sort: a rollout to most instances, other ones with values
// of their own, instances that are added, removed and unknown, dangers and inputs.
func report(t testing.TB, count int) *review.Report {
	t.Helper()
	base := side(t, "merge base 1a2b3c4 of main", count, func(i int, _ *service) bool { return i != 1 })
	head := side(t, "working tree", count, func(i int, s *service) bool {
		switch {
		case i == 2:
			return false
		case i == 3:
			s.storage = "5Gi"
		case i == 4:
			s.password = "correct horse"
		case i == 5:
			s.broken = true
		case i == 6:
			s.replicas = 0
		case i%10 == 7:
			s.replicas, s.image = 3+i%9, fmt.Sprintf("registry.example.com/web:1.5.%d", i)
		case i%2 == 0:
			s.image = "registry.example.com/web:1.5.0"
		}
		return true
	})
	return newReport(t, base, head)
}

func newReport(t testing.TB, base, head review.Tree) *review.Report {
	t.Helper()
	r, err := review.New(base, head, []review.Input{
		{Kind: review.InputModule, Name: "webservice", Action: objectdiff.Modify, Old: "v1.4.0", New: "v1.5.0", Notes: []string{"new field spec.cache, optional"}, Breaking: []string{"spec.port: the maximum is 65535, it was 70000"}},
		{Kind: review.InputLock, Name: "registry.example.com/modules/webservice", Action: objectdiff.Modify, Old: "sha256:1a2b3c", New: "sha256:4d5e6f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func written(t testing.TB, r *review.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return strings.ToValidUTF8(b.String(), "")
}
