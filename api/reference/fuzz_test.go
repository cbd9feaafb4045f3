package reference

import (
	"testing"
	"time"
)

// FuzzCompile compiles any text as a late reference and as a readiness expression, and evaluates it. An
// expression that is accepted ends in time, with a value or an error.
func FuzzCompile(f *testing.F) {
	for _, expr := range []string{
		"service.spec.clusterIP + ':80'", `nodes["my-app"].metadata.uid`, "object.status.readyReplicas >= object.spec.replicas",
		"[1, 2, 3].all(x, [1, 2, 3].exists(y, x == y))", `"aaaa".matches("(a+)+$")`, "object.spec.items.map(x, x.name).join(',')", "int('x') / 0",
		"object.?status.orValue({}).size() > 0 ? true : false", "((((((((", "\x00", `quantity("1Gi").compareTo(quantity("1G")) > 0`, "service.spec.ports[0].port",
	} {
		f.Add(expr)
	}
	object := map[string]any{
		"metadata": map[string]any{"name": "web", "uid": "1"}, "status": map[string]any{"readyReplicas": int64(2)},
		"spec": map[string]any{"replicas": int64(2), "clusterIP": "10.0.0.1", "ports": []any{map[string]any{"port": int64(80)}}, "items": []any{map[string]any{"name": "x"}}},
	}
	f.Fuzz(func(t *testing.T, expr string) {
		for _, late := range []bool{true, false} {
			var budget Budget
			compile, data := CompileReady, object
			if late {
				compile, data = NewNodeSet([]string{"service", "my-app"}).Compile, map[string]any{"service": object, "my-app": object}
			}
			e, problems := compile(expr, &budget)
			if (e == nil) == (len(problems) == 0) {
				t.Fatalf("%v, %v", e, problems)
			}
			if e == nil {
				continue
			}
			p, err := e.Plan()
			if err != nil {
				t.Fatalf("it compiled before: %v", err)
			}
			began := time.Now()
			_, _ = p.Eval(data) // an error is an answer
			if took := time.Since(began); took > 3*MaxTime {
				t.Errorf("it took %s", took)
			}
		}
	})
}
