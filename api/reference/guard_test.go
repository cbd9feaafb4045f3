package reference

import (
	"strings"
	"testing"
	"time"
)

// Expressions whose results would exceed any memory at a cost within CEL's limit.
func TestGuards(t *testing.T) {
	scope := NewNodeSet([]string{"cm"})
	data := map[string]any{"cm": map[string]any{"data": map[string]any{"a": strings.Repeat("a", 300_000), "b": "%d %s"}}}
	for _, test := range []struct{ expr, want string }{
		{"cm.data.a.replace('a', cm.data.a)", "replace would yield more than 1048576 bytes"},
		{"cm.data.a.replace('', cm.data.a, 1000)", "replace would yield more than 1048576 bytes"},
		{"[1,2,3,4,5].map(x, cm.data.a).join()", "join would yield more than 1048576 bytes"},
		{"cm.data.a.split('').join(cm.data.a)", "join would yield more than 1048576 bytes"},
		{"'%s%s%s%s'.format([cm.data.a, cm.data.a, cm.data.a, cm.data.a])", "format would yield more than 1048576 bytes"},
		{"'%.300000000f'.format([1.0])", "format would yield more than 1048576 bytes"},
		{"[[1,2]]" + strings.Repeat(".map(x,x+x)", 40) + "[0]", "+ would yield a list of"},
		{"[[1,2]]" + strings.Repeat(".map(x,x+x)", 40) + "[0] == [[1,2]]" + strings.Repeat(".map(x,x+x)", 40) + "[0]", "+ would yield a list of"},
		{"[1].map(x, {'a': x})" + strings.Repeat(".map(x,{'a':x,'b':x,'c':x,'d':x})", 12), "yields more than 262144 bytes"},
		{"cm.data.a", "yields more than 262144 bytes"},
		{"'a-b-c'.replace('-', '+') + ['x', 'y'].join('/') + cm.data.b.format([1, 'z']) + '%.2f'.format([1.0])", ""},
	} {
		e, issues := scope.Compile(test.expr, nil)
		if len(issues) > 0 {
			t.Errorf("%s: %v", test.expr, issues)
			continue
		}
		p, err := e.Plan()
		if err != nil {
			t.Fatal(err)
		}
		value, err := p.Eval(data)
		switch {
		case test.want == "" && (err != nil || value != "a+b+cx/y1 z1.00"):
			t.Errorf("%s: %v, %v", test.expr, value, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%.60s: %.200v; want %s", test.expr, err, test.want)
		}
	}
}

// planned returns the program of an expression over a node cm.
func planned(t *testing.T, expr string) *Program {
	t.Helper()
	e, issues := NewNodeSet([]string{"cm"}).Compile(expr, nil)
	if len(issues) > 0 {
		t.Fatalf("%s: %v", expr, issues)
	}
	p, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An evaluation ends at its deadline, though its cost is within the limit.
func TestDeadline(t *testing.T) {
	p := planned(t, "cm.data.a.split(',').all(a, cm.data.a.split(',').all(b, a + b != 'x')) ? 1 : 2")
	data := map[string]any{"cm": map[string]any{"data": map[string]any{"a": strings.Repeat("1,", 100)}}}
	if value, err := p.Eval(data); err != nil || value != int64(1) {
		t.Fatalf("%v, %v", value, err)
	}
	_, cost, err := p.measure(data, time.Nanosecond)
	if err == nil || err.Error() != "takes too long: it was stopped after 1ns" {
		t.Errorf("error %v", err)
	}
	if _, whole, _ := p.Measure(data); cost > whole/10 {
		t.Errorf("stopped after a cost of %d; the whole costs %d", cost, whole)
	}
}

// To explain an error, parts of the expression are evaluated that the evaluation
// itself leaves out. They have the limits of an evaluation, too.
func TestExplanationHasLimits(t *testing.T) {
	loops := strings.Repeat("[0,1,2,3,4,5,6,7,8,9].all(X,", 9) + "true" + strings.Repeat(")", 9)
	for i := range 9 {
		loops = strings.Replace(loops, "X", string(rune('a'+i)), 1)
	}
	expensive := strings.TrimSuffix(strings.Repeat("("+loops+") == true || ", 8), " || ") // a billion iterations each
	p := planned(t, "false && ("+expensive+") ? 'y' : cm.data.a + dyn(1)")
	data := map[string]any{"cm": map[string]any{"data": map[string]any{"a": "x"}}}
	began := time.Now()
	_, cost, err := p.Measure(data)
	if err == nil || cost > 3*maxCost || time.Since(began) > 5*MaxTime {
		t.Errorf("cost %d in %v: %v", cost, time.Since(began), err)
	}
}
