package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzPlain checks that an expression that is taken for a plain path is the expression
// that CEL compiles. The seeds are paths with every name that has a meaning in CEL.
func FuzzPlain(f *testing.F) {
	words := strings.Fields("false in null true as break const continue else for function if import let loop " +
		"namespace package return var void while bool bytes double dyn int list map null_type optional_type string type uint " +
		"nodes optional google math has all exists filter cel size self object __x _ X9 9x é x-y optMap")
	for _, word := range words {
		f.Add(word)
		f.Add(word + ".x")
		f.Add("service." + word)
		f.Add("service." + word + ".x")
		f.Add("google.protobuf." + word)
	}
	for _, expr := range []string{
		"", "service", "service.", ".service.x", "service.x ", "service .x", "service..x", "service.x()", "service.x[0]", "service.`x`",
		"service.?x", "nodes.service.x", "services.x", "service" + strings.Repeat(".x", maxPlain-1), "service" + strings.Repeat(".x", maxPlain),
		"service." + strings.Repeat("x", MaxLength-8), "service." + strings.Repeat("x", MaxLength),
		"service" + strings.Repeat(".optMap", maxOptionalMaps+1),
	} {
		f.Add(expr)
	}
	scope := NewNodeSet(append(words, "service"))
	f.Fuzz(func(t *testing.T, expr string) {
		got := scope.plain(expr)
		if got == nil {
			return
		}
		want, issues := plan(scope, expr, nil)
		if issues != nil {
			t.Fatalf("CEL refuses %q: %v", expr, issues)
		}
		if diff := cmp.Diff(want.expression, got, cmp.AllowUnexported(Expression{}), cmp.Comparer(func(a, b *NodeSet) bool { return a == b })); diff != "" {
			t.Errorf("%q (-CEL +plain):\n%s", expr, diff)
		}
	})
}

// TestPlain checks which expressions need no CEL.
func TestPlain(t *testing.T) {
	scope := NewNodeSet([]string{"service", "worker-high", "namespace"})
	for expr, want := range map[string]bool{
		"service.spec.clusterIP":                  true,
		"service.metadata.namespace":              true,
		"service.spec.type":                       true,
		"service":                                 false,
		"service.spec.in":                         false,
		"service.spec.ports[0].port":              false,
		"namespace.metadata.name":                 false,
		"worker-high.status.readyReplicas":        false,
		"database.status.endpoint":                false,
		"service.spec" + strings.Repeat(".x", 40): false,
	} {
		if got := scope.plain(expr) != nil; got != want {
			t.Errorf("plain(%q) = %t, want %t", expr, got, want)
		}
	}
}
