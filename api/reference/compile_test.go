package reference

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/internal/problem"
)

var graphIDs = []string{
	"service", "db", "worker-high", "worker", "a.b", "3scale", "namespace", "list", "string", "ip", "nodes", "Config_2", "x",
}

func TestCompile(t *testing.T) {
	for _, test := range []struct {
		expr string
		want []string
	}{
		{"1 + 1", nil},
		{"service.spec.clusterIP", []string{"service"}},
		{".service.spec.clusterIP", []string{"service"}},
		{"service.spec.clusterIP + ':' + string(db.spec.port) + service.metadata.name", []string{"service", "db"}},
		{`nodes["worker-high"].status.readyReplicas`, []string{"worker-high"}},
		{`nodes['a.b'].x + nodes["3scale"].y + nodes.namespace.z + nodes.list.z`, []string{"a.b", "3scale", "namespace", "list"}},
		{`nodes["nodes"].x`, []string{"nodes"}},
		{"nodes.service.spec", []string{"service"}},
		{"has(nodes.db) && has(service.spec.x)", []string{"db", "service"}},
		{"service.?spec.?clusterIP.orValue('')", []string{"service"}},
		{`nodes[?"db"].x.orValue(1)`, []string{"db"}},
		{"nodes.?db.x.orValue(1)", []string{"db"}},
		{"service.spec.ports.filter(x, x.name == 'http')[0].port", []string{"service"}},
		{"service.spec.ports.map(db, db.name)", []string{"service"}},
		{"service.spec.ports.map(p, p.name + x.name)", []string{"service", "x"}},
		{"service.spec.ports.map(x, x.name) + x.names", []string{"service", "x"}},
		{"service.spec.ports.all(i, p, p.n > i + db.n)", []string{"service", "db"}},
		{"{string(db.key): service.x, 'a': worker.y}", []string{"db", "service", "worker"}},
		{"service.x ? db.x : worker.x", []string{"service", "db", "worker"}},
		{"ip.isCanonical('10.0.0.1') && sets.contains([1], [1])", nil},
		{"ip.isCanonical(ip.status.loadBalancer)", []string{"ip"}},
		{"ip('10.0.0.1').family() == service.family", []string{"service"}},
		{"type(service.x) == string ? 1 : int(db.y)", []string{"service", "db"}},
		{"type(service.x) == google.protobuf.Timestamp", []string{"service"}},
		{"quantity(service.spec.size).isGreaterThan(quantity('1Gi'))", []string{"service"}},
		{"worker-x.y", []string{"worker", "x"}},
		{"'service ${db}'", nil},
		{"Config_2.data['a.b/c']", []string{"Config_2"}},
	} {
		t.Run(test.expr, func(t *testing.T) {
			got, issues := NewNodeSet(graphIDs).Compile(test.expr, nil)
			if len(issues) > 0 {
				t.Fatalf("issues: %v", issues)
			}
			if diff := cmp.Diff(test.want, got.Nodes()); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			program, err := got.Plan()
			if err != nil || got.String() != test.expr || !program.checked.IsChecked() {
				t.Errorf("String() = %q, program %v, error %v", got, program, err)
			}
		})
	}
}

func TestCompileIssues(t *testing.T) {
	const needID = `as in nodes["worker-high"]: what an expression reads must be known before it runs`
	const needIDMessage = "nodes must be followed by the id of a node, written out"
	for _, test := range []struct {
		expr string
		want problem.List
	}{
		{"servce.spec.ip", problem.List{{Message: `no node "servce"`, Hint: `did you mean "service"?`}}},
		{"servce.a + servce.b + unheard.c", problem.List{{Message: `no node "servce"`, Hint: `did you mean "service"?`}, {Message: `no node "unheard"`}}},
		{`nodes["servce"].x + dbb.y`, problem.List{{Message: `no node "servce"`, Hint: `did you mean "service"?`}, {Message: `no node "dbb"`, Hint: `did you mean "db"?`}}},
		{"object.spec", problem.List{{Message: `no node "object"`}}},
		{"worker-high.status.x", problem.List{{Message: `no node "high"`, Hint: `write nodes["worker-high"]`}}},
		{"a.b.status", problem.List{{Message: `no node "a"`, Hint: `write nodes["a.b"]`}}},
		{"3scale.status.x", problem.List{{Message: `column 2: syntax error: unexpected "scale"`, Hint: `write nodes["3scale"]`}}},
		{"namespace.metadata.uid", problem.List{{Message: `column 1: "namespace" is a reserved word`, Hint: `write nodes["namespace"]`}}},
		{"package.x", problem.List{{Message: `column 1: "package" is a reserved word`}}},
		{"list.metadata.uid", problem.List{{Message: `column 5: type 'type(list(dyn))' does not support field selection`, Hint: `write nodes["list"]`}}},
		{"'worker-high.x' + servce.y", problem.List{{Message: `no node "servce"`, Hint: `did you mean "service"?`}}},
		{"nodes[service.x].y", problem.List{{Message: needIDMessage, Hint: needID}}},
		{"nodes[0]", problem.List{{Message: needIDMessage, Hint: needID}}},
		{"nodes.all(n, nodes[n].x)", problem.List{{Message: needIDMessage, Hint: needID}}},
		{"size(nodes)", problem.List{{Message: needIDMessage, Hint: needID}}},
		{"service.", problem.List{{Message: "column 9: syntax error: unexpected end"}}},
		{"service.x +\n  + db.y", problem.List{{Message: `line 2, column 3: syntax error: unexpected "+"`}}},
		{"(service.x", problem.List{{Message: `column 11: syntax error: missing ")"`}}},
		{"service.x)", problem.List{{Message: `column 10: syntax error: unexpected ")"`}}},
		{"'open", problem.List{{Message: `column 1: syntax error: unexpected "'open"`}}},
		{"service spec", problem.List{{Message: `column 9: syntax error: unexpected "spec"`}}},
		{"'a' + 1", problem.List{{Message: "column 5: found no matching overload for '+' applied to '(string, int)'"}}},
		{"lenght(service.x)", problem.List{{Message: `column 7: no function "lenght"`}}},
		{"duration('soon')", problem.List{{Message: "column 10: invalid duration argument"}}},
	} {
		t.Run(test.expr, func(t *testing.T) {
			got, issues := NewNodeSet(graphIDs).Compile(test.expr, nil)
			if got != nil {
				t.Errorf("an expression with issues was returned: %v", got)
			}
			if diff := cmp.Diff(test.want, issues); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileReady(t *testing.T) {
	for _, test := range []struct {
		expr string
		want problem.List
	}{
		{"object.status.phase == 'Ready'", nil},
		{"object.status.ready", nil},
		{"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", nil},
		{"object.status.count", nil},
		{"size(object.status.list)", problem.List{{Message: "yields an int, not true or false"}}},
		{"'yes'", problem.List{{Message: "yields a string, not true or false"}}},
		{"self.status.ready", problem.List{{Message: `no variable "self"`, Hint: "a readiness expression reads object, the live object, and nothing else"}}},
		{"objekt.status.ready", problem.List{{Message: `no variable "objekt"`, Hint: `did you mean "object"?`}}},
		{"nodes.x.ready", problem.List{{Message: `no variable "nodes"`, Hint: "a readiness expression reads object, the live object, and nothing else"}}},
		{"object.status ==", problem.List{{Message: "column 17: syntax error: unexpected end"}}},
		{"redy(object)", problem.List{{Message: `column 5: no function "redy"`}}},
	} {
		t.Run(test.expr, func(t *testing.T) {
			_, issues := CompileReady(test.expr, nil)
			if diff := cmp.Diff(test.want, issues); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	scope := NewNodeSet(graphIDs)
	for b.Loop() {
		if _, issues := scope.Compile("service.spec.clusterIP + ':' + string(db.spec.port)", nil); issues != nil {
			b.Fatal(issues)
		}
	}
}
