package reference

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func liveNodes() map[string]any {
	return map[string]any{
		"service": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"a.b/c": "dotted"}},
			"spec": map[string]any{
				"clusterIP": "10.0.0.1",
				"ports": []any{
					map[string]any{"name": "http", "port": int64(80)},
					map[string]any{"port": int64(81)},
				},
				"names": []any{"x", "y"},
				"ratio": 0.5,
				"on":    true,
				"empty": []any{},
				"nil":   nil,
				"odd":   map[string]any{"$from": "not.a.reference", "$generate": map[string]any{"length": int64(1)}},
			},
			"status": map[string]any{"loadBalancer": map[string]any{}},
		},
		"worker-high": map[string]any{"status": map[string]any{"readyReplicas": int64(3)}},
		"config":      map[string]any{"data": map[string]any{"key": "clusterIP", "secret": Refuse("is kept back")}},
	}
}

func eval(t *testing.T, expr string) (any, error) {
	t.Helper()
	compiled, issues := NewNodeSet([]string{"service", "worker-high", "config", "gone", "gone-too"}).Compile(expr, nil)
	if len(issues) > 0 {
		t.Fatalf("issues: %v", issues)
	}
	program, err := compiled.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return program.Eval(liveNodes())
}

func TestEval(t *testing.T) {
	for _, test := range []struct {
		expr string
		want any
	}{
		{"service.spec.clusterIP + ':' + string(service.spec.ports[0].port)", "10.0.0.1:80"},
		{"service.spec.ports[0].port + 1", int64(81)},
		{`nodes["worker-high"].status.readyReplicas`, int64(3)},
		{"service.spec.ratio * 3.0", 1.5},
		{"service.spec.on", true},
		{"service.spec.ports", []any{map[string]any{"name": "http", "port": int64(80)}, map[string]any{"port": int64(81)}}},
		{"service.spec.ports.map(p, p.port)", []any{int64(80), int64(81)}},
		{"{'a': service.spec.names, 'b': dyn(['z'])}", map[string]any{"a": []any{"x", "y"}, "b": []any{"z"}}},
		{"service.spec.names + ['z']", []any{"x", "y", "z"}},
		{"service.spec.odd", map[string]any{"$from": "not.a.reference", "$generate": map[string]any{"length": int64(1)}}},
		{"service.metadata.annotations['a.b/c']", "dotted"},
		{"service.spec[config.data.key]", "10.0.0.1"},
		{"timestamp('2026-01-02T03:04:05Z')", "2026-01-02T03:04:05Z"},
		{"timestamp('2026-01-02T05:04:05.25+02:00')", "2026-01-02T03:04:05.25Z"},
		{"duration('90s')", "1m30s"},
		{"b'abc'", "YWJj"},
		{"7u", int64(7)},
		{"quantity('1Gi').add(quantity('1Gi'))", "2Gi"},
		{"ip('10.0.0.1')", "10.0.0.1"},
		{"cidr('10.0.0.0/8')", "10.0.0.0/8"},
		{"url('https://a.example/b')", "https://a.example/b"},
		{"semver('1.2.3')", "1.2.3"},
		{"optional.none()", Omitted{}},
		{"service.?spec.?nope", Omitted{}},
		{"service.?spec.?clusterIP", "10.0.0.1"},
		{"nodes[?'gone'].metadata", Omitted{}},
		{"[service.?spec.?nope, optional.of(dyn('y'))]", []any{"y"}},
		{"{'a': service.?spec.?nope, 'b': optional.of(dyn('y'))}", map[string]any{"b": "y"}},
		{"has(nodes.gone)", false},
		{"has(service.spec.nope)", false},
		{"service.spec.nope == 1 || true", true},
		{"service.spec.nil == null", true},
		{"has(config.data.secret) && size(config.data) == 2", true},
		{"service.spec.ports.exists(p, p.name == 'http')", true},
	} {
		t.Run(test.expr, func(t *testing.T) {
			got, err := eval(t, test.expr)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvalMissing(t *testing.T) {
	for _, test := range []struct{ expr, want string }{
		{"gone.status.ip", "gone"},
		{"nodes['gone-too'].status.ip", `nodes["gone-too"]`},
		{"gone", "gone"},
		{"has(gone.spec.x)", "gone"},
		{"gone.status.ip + 1", "gone"},
		{"service.status.loadBalancer.ingress[0].ip", "service.status.loadBalancer.ingress"},
		{"'http://' + service.status.loadBalancer.ingress[0].ip", "service.status.loadBalancer.ingress"},
		{"int(string(service.spec.nope))", "service.spec.nope"},
		{"sets.contains(['a'], [service.spec.nope])", "service.spec.nope"},
		{"{'a': [service.spec.nope]}", "service.spec.nope"},
		{"service.spec.empty[0].x", "service.spec.empty[0]"},
		{"service.spec.ports[2]", "service.spec.ports[2]"},
		{"service.spec.ports[size(service.spec.empty) - 1]", "service.spec.ports[-1]"},
		{"service.spec.ports[1].name", "service.spec.ports[1].name"},
		{"service.metadata.annotations['x.y/z']", `service.metadata.annotations["x.y/z"]`},
		{"service.metadata.annotations[config.data.key]", "service.metadata.annotations.clusterIP"},
		{"service.metadata.labels['x.y/z']", "service.metadata.labels"},
		{"service.spec.ports.map(p, p.name)", "service.spec.ports[1].name"},
		{"service.spec.ports.map(p, p.name.size())", "service.spec.ports[1].name"},
		{"service.spec.ports.exists(p, p.name == 'https')", "service.spec.ports[1].name"},
		{"service.spec.ports.all(p, p.name == 'http')", "service.spec.ports[1].name"},
		{"service.spec.ports.filter(p, p.port > 80)[0].name", "…[0].name"},
		{"service.spec.ports.filter(p, p.port > 90)[0].port", "…[0]"},
		{"service.spec.ports.map(p, service.spec.names.map(n, p.name + n))", "service.spec.ports[1].name"},
		{"service.spec.names.map(n, service.spec.ports[7].name + n)", "service.spec.ports[7]"},
		{"service.spec.names.map(n, service.spec[n])", `a field or element "x"`},
		{"(service.spec.on ? service.spec.ports[1] : service.spec.ports[0]).name", "….name"},
		{"service.spec.nope == 1 || false", "service.spec.nope"},
		{"service.spec.on && service.spec.nope", "service.spec.nope"},
		{"service.?spec.?nope.value()", "service.spec.nope"},
		{"optional.none().value()", "an optional value"},
		{"service.spec.empty.map(p, int(p)).min()", "an element: min called on empty list"},
		{"service.spec.ports.sortBy(p, p.name)", `a field or element "name"`},
		{"{'a': 1}[service.spec.clusterIP]", `…["10.0.0.1"]`},
		{"service.spec.nil", "service.spec.nil, which is null"},
		{"service.spec.nil.name", "service.spec.nil, which is null"},
		{"service.spec.nil + 'x'", "service.spec.nil, which is null"},
		{"string(service.spec.nil)", "service.spec.nil, which is null"},
	} {
		t.Run(test.expr, func(t *testing.T) {
			got, err := eval(t, test.expr)
			var missing *Missing
			if !errors.As(err, &missing) {
				t.Fatalf("got %v, error %v, which is not Missing", got, err)
			}
			if missing.What != test.want {
				t.Errorf("waits for %s, want %s", missing.What, test.want)
			}
		})
	}
}

func TestEvalErrors(t *testing.T) {
	nested := "1"
	for range 16 {
		nested = "[1,2,3,4].map(x, " + nested + ")"
	}
	for _, test := range []struct{ expr, want string }{
		{"service.spec.clusterIP.name", `service.spec.clusterIP is a string, and has no field "name"`},
		{"service.spec.clusterIP[0]", "service.spec.clusterIP is a string, and has no elements"},
		{"service.spec.on.x.y", `service.spec.on is a boolean, and has no field "x"`},
		{"service.spec.ports[0].port.x", `service.spec.ports[0].port is a number, and has no field "x"`},
		{"service.spec[0]", "service.spec is a map, and has no element 0"},
		{"service.spec.names.map(n, n.x)", `service.spec.names[0] is a string, and has no field "x"`},
		{"service.spec.ports.map(p, p.port.x)", `service.spec.ports[0].port is a number, and has no field "x"`},
		{"service.spec.ports.filter(p, p.port > 80)[0].port.x", `…[0].port is a number, and has no field "x"`},
		{"service.spec.ports.a", "unsupported index type 'string' in list"},
		{"service.spec.clusterIP + 1", "+ doesn't take a string and a number"},
		{"service.spec.clusterIP < 1", "< doesn't take a string and a number"},
		{"-service.spec.clusterIP", "- doesn't take a string"},
		{"service.spec.on && service.spec.clusterIP", "&& doesn't take a boolean and a string"},
		{"service.spec.clusterIP ? 1 : 2", "?: doesn't take a string and a number and a number"},
		{"size(service.spec.on)", "size() doesn't take a boolean"},
		{"service.spec.ports[0].port.startsWith('8')", "startsWith() doesn't take a number and a string"},
		{"service.spec.names.map(n, n + 1)", "a value has a type that its operator or function doesn't take"},
		{"int(service.spec.clusterIP)", "type conversion error from 'string' to 'int'"},
		{"1 / int(service.spec.ratio)", "division by zero"},
		{"9223372036854775807 + int(service.spec.ratio + 1.0)", "integer overflow"},
		{"service.spec.clusterIP.substring(50)", "index out of range: 50"},
		{"service.spec.on.map(x, x)", "got 'types.Bool', expected iterable type"},
		{"service.spec.ratio / 0.0", "yields +Inf, which JSON doesn't have"},
		{"18446744073709551615u", "yields 18446744073709551615, which is too large for JSON"},
		{"{1: 2}", "yields a map with an int as key; objects have strings"},
		{"type(service)", "yields a type, which can't stand in an object"},
		{"null", "yields null; optional.none() leaves a field out"},
		{"config.data.secret", "is kept back"},
		{"config.data.?secret.orValue('x')", "is kept back"},
		{"config.data", "is kept back"},
		{"[config]", "is kept back"},
		{"string(config.data.secret) + 'x'", "is kept back"},
		{"config.data.map(k, config.data[k])", "is kept back"},
		{nested, "takes too long: it exceeds the cost limit of an expression"},
	} {
		t.Run(test.expr, func(t *testing.T) {
			got, err := eval(t, test.expr)
			if err == nil {
				t.Fatalf("got %v, want an error", got)
			}
			var missing *Missing
			if errors.As(err, &missing) {
				t.Fatalf("%v is Missing", err)
			}
			if err.Error() != test.want {
				t.Errorf("error %q, want %q", err, test.want)
			}
		})
	}
}

func TestEvalCopies(t *testing.T) {
	data := liveNodes()
	compiled, issues := NewNodeSet([]string{"service"}).Compile("service.spec.odd", nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	program, err := compiled.Plan()
	if err != nil {
		t.Fatal(err)
	}
	got, err := program.Eval(data)
	if err != nil {
		t.Fatal(err)
	}
	got.(map[string]any)["$generate"].(map[string]any)["length"] = "changed"
	if diff := cmp.Diff(liveNodes()["service"], data["service"]); diff != "" {
		t.Errorf("the live object changed:\n%s", diff)
	}
}

func TestEvalReady(t *testing.T) {
	compiled, issues := CompileReady("object.status.phase == 'Running'", nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	program, err := compiled.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := program.Eval(map[string]any{"status": map[string]any{"phase": "Running"}}); got != true || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = program.Eval(map[string]any{"spec": strings.Repeat("x", 10)})
	if want := "waits for object.status"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func BenchmarkEval(b *testing.B) {
	compiled, _ := NewNodeSet([]string{"service"}).Compile("service.spec.clusterIP + ':' + string(service.spec.ports[0].port)", nil)
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			if _, err := compiled.Plan(); err != nil {
				b.Fatal(err)
			}
		}
	})
	program, err := compiled.Plan()
	if err != nil {
		b.Fatal(err)
	}
	data := liveNodes()
	b.Run("run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := program.Eval(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	delete(data, "service")
	b.Run("missing", func(b *testing.B) {
		for b.Loop() {
			if _, err := program.Eval(data); err == nil {
				b.Fatal("no error")
			}
		}
	})
}
