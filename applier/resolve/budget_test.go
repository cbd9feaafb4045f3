package resolve

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// references returns a graph with a ConfigMap of n references to another one.
func references(n int, expr func(i int) string) string {
	var data []string
	for i := range n {
		data = append(data, fmt.Sprintf("k%d: {$from: %q}", i, expr(i)))
	}
	return config("{" + strings.Join(data, ", ") + "}")
}

// list is an object whose text has many parts, so that loops over them cost much.
func list(t testing.TB, version string) Lookup {
	return live(t, fmt.Sprintf("external: {apiVersion: v1, kind: ConfigMap, metadata: {name: other, uid: u, resourceVersion: %q}, data: {l: %q}}",
		version, strings.Repeat("1,", 300)))
}

// loop returns an expression that costs more than half of the limit of one
// evaluation.
func loop(i int) string {
	return fmt.Sprintf("external.data.l.split(',').all(a, external.data.l.split(',').all(b, a+b != '%d')) ? 'x' : 'y'", 100+i)
}

// Expensive references are evaluated in slices, and each only once.
func TestSlices(t *testing.T) {
	r := resolver(t, references(5, loop))
	objects := list(t, "1")
	steps := 0
	for ; ; steps++ {
		object, err := r.Object(0, objects)
		if err == nil {
			if got := object.Object["data"].(map[string]any)["k4"]; got != "x" {
				t.Errorf("k4 is %v", got)
			}
			break
		}
		if !errors.Is(err, ErrLater) || steps > 5 {
			t.Fatalf("step %d: %v", steps, err)
		}
		if spent := r.BeginStep(); spent < sliceCost || spent > 4*sliceCost {
			t.Errorf("a step cost %d", spent)
		}
	}
	if steps == 0 {
		t.Error("everything was evaluated in one step")
	}
	r.BeginStep()
	if _, err := r.Object(0, objects); err != nil || r.Spent() != 0 {
		t.Errorf("values that are known cost %d, error %v", r.Spent(), err)
	}
	if _, err := r.Object(0, list(t, "2")); r.Spent() == 0 {
		t.Errorf("an object with another version isn't read again; error %v", err)
	}
}

// Equal expressions are evaluated once.
func TestEqualExpressions(t *testing.T) {
	r := resolver(t, references(500, func(int) string { return loop(0) }))
	if _, err := r.Object(0, list(t, "1")); err != nil || r.Spent() > 4*sliceCost {
		t.Errorf("cost %d, error %v", r.Spent(), err)
	}
}

func TestCostBudget(t *testing.T) {
	r := resolver(t, references(50, loop))
	var over *BudgetError
	for steps := 0; over == nil; steps++ {
		_, err := r.Object(0, list(t, "1"))
		if !errors.As(err, &over) && !errors.Is(err, ErrLater) || steps > 50 {
			t.Fatalf("step %d: %v", steps, err)
		}
		r.BeginStep()
	}
	if !strings.HasPrefix(over.Message, "the expressions of the graph exceed the cost limit of 10000000: ") {
		t.Error(over)
	}
}

func TestValuesBudget(t *testing.T) {
	// The values are shared in memory, but each is a part of the object.
	r := resolver(t, references(20, func(int) string { return "external.data.a" }))
	large := live(t, "external: {apiVersion: v1, kind: ConfigMap, metadata: {name: other, uid: u, resourceVersion: '1'}, data: {a: "+strings.Repeat("x", 200_000)+"}}")
	var over *BudgetError
	if _, err := r.Object(0, large); !errors.As(err, &over) ||
		over.Message != "the values of the graph's late references are 4000000 bytes; the limit is 2097152" {
		t.Error(err)
	}
}

// Metadata that changes with every write is hidden from expressions that read all
// metadata.
func TestVolatileIsHidden(t *testing.T) {
	r := resolver(t, config(`{a: {$from: "external.metadata.map(k, k).join()"}}`))
	object, err := r.Object(0, live(t, "external: {apiVersion: v1, kind: ConfigMap, metadata: {name: other, resourceVersion: '1', managedFields: []}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := object.Object["data"].(map[string]any)["a"]; got != "name" {
		t.Errorf("metadata has %v", got)
	}
}
