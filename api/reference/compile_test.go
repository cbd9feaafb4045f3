package reference

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
			got, issues := NewScope(graphIDs).Compile(test.expr)
			if len(issues) > 0 {
				t.Fatalf("issues: %v", issues)
			}
			if diff := cmp.Diff(test.want, got.Nodes()); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if got.String() != test.expr || !got.Checked().IsChecked() {
				t.Errorf("String() = %q, checked %t", got, got.Checked().IsChecked())
			}
		})
	}
}

func TestCompileIssues(t *testing.T) {
	const needID = `as in nodes["worker-high"]: what an expression reads must be known before it runs`
	const needIDMessage = "nodes must be followed by the id of a node, written out"
	for _, test := range []struct {
		expr string
		want []Issue
	}{
		{"servce.spec.ip", []Issue{{`no node "servce"`, `did you mean "service"?`}}},
		{"servce.a + servce.b + unheard.c", []Issue{{`no node "servce"`, `did you mean "service"?`}, {`no node "unheard"`, ""}}},
		{`nodes["servce"].x + dbb.y`, []Issue{{`no node "servce"`, `did you mean "service"?`}, {`no node "dbb"`, `did you mean "db"?`}}},
		{"object.spec", []Issue{{`no node "object"`, ""}}},
		{"worker-high.status.x", []Issue{{`no node "high"`, `write nodes["worker-high"]`}}},
		{"a.b.status", []Issue{{`no node "a"`, `write nodes["a.b"]`}}},
		{"3scale.status.x", []Issue{{`column 2: syntax error: unexpected "scale"`, `write nodes["3scale"]`}}},
		{"namespace.metadata.uid", []Issue{{`column 1: "namespace" is a reserved word`, `write nodes["namespace"]`}}},
		{"package.x", []Issue{{`column 1: "package" is a reserved word`, ""}}},
		{"list.metadata.uid", []Issue{{`column 5: type 'type(list(dyn))' does not support field selection`, `write nodes["list"]`}}},
		{"'worker-high.x' + servce.y", []Issue{{`no node "servce"`, `did you mean "service"?`}}},
		{"nodes[service.x].y", []Issue{{needIDMessage, needID}}},
		{"nodes[0]", []Issue{{needIDMessage, needID}}},
		{"nodes.all(n, nodes[n].x)", []Issue{{needIDMessage, needID}}},
		{"size(nodes)", []Issue{{needIDMessage, needID}}},
		{"service.", []Issue{{"column 9: syntax error: unexpected end", ""}}},
		{"service.x +\n  + db.y", []Issue{{`line 2, column 3: syntax error: unexpected "+"`, ""}}},
		{"(service.x", []Issue{{`column 11: syntax error: missing ")"`, ""}}},
		{"service.x)", []Issue{{`column 10: syntax error: unexpected ")"`, ""}}},
		{"'open", []Issue{{`column 1: syntax error: unexpected "'open"`, ""}}},
		{"service spec", []Issue{{`column 9: syntax error: unexpected "spec"`, ""}}},
		{"'a' + 1", []Issue{{"column 5: found no matching overload for '+' applied to '(string, int)'", ""}}},
		{"lenght(service.x)", []Issue{{`column 7: no function "lenght"`, ""}}},
		{"duration('soon')", []Issue{{"column 10: invalid duration argument", ""}}},
	} {
		t.Run(test.expr, func(t *testing.T) {
			got, issues := NewScope(graphIDs).Compile(test.expr)
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
		want []Issue
	}{
		{"object.status.phase == 'Ready'", nil},
		{"object.status.ready", nil},
		{"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", nil},
		{"object.status.count", nil},
		{"size(object.status.list)", []Issue{{"yields an int, not true or false", ""}}},
		{"'yes'", []Issue{{"yields a string, not true or false", ""}}},
		{"self.status.ready", []Issue{{`no variable "self"`, "a readiness expression reads object, the live object, and nothing else"}}},
		{"objekt.status.ready", []Issue{{`no variable "objekt"`, `did you mean "object"?`}}},
		{"nodes.x.ready", []Issue{{`no variable "nodes"`, "a readiness expression reads object, the live object, and nothing else"}}},
		{"object.status ==", []Issue{{"column 17: syntax error: unexpected end", ""}}},
		{"redy(object)", []Issue{{`column 5: no function "redy"`, ""}}},
	} {
		t.Run(test.expr, func(t *testing.T) {
			_, issues := CompileReady(test.expr)
			if diff := cmp.Diff(test.want, issues); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	scope := NewScope(graphIDs)
	for b.Loop() {
		if _, issues := scope.Compile("service.spec.clusterIP + ':' + string(db.spec.port)"); issues != nil {
			b.Fatal(issues)
		}
	}
}
