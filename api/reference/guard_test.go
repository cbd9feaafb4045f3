package reference

import (
	"strings"
	"testing"
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
		e, issues := scope.Compile(test.expr)
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
