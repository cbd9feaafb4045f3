package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVariables evaluates expressions over several variables, and checks their errors.
func TestVariables(t *testing.T) {
	t.Parallel()
	v := NewVariables("run", "old")
	data := map[string]any{
		"run": map[string]any{"status": int64(200), "body": map[string]any{"id": "x", "list": []any{"a"}}},
		"old": nil,
	}
	for _, test := range []struct {
		expr string
		want any
		err  string
	}{
		{"run.body.id + '/' + string(run.status)", "x/200", ""},
		{"old == null && run.status in [200, 201]", true, ""},
		{"run.body.list.map(x, x + '!')", []any{"a!"}, ""},
		{"run.body.url", nil, "waits for run.body.url"},
		{"run.body.list.map(x, x + run.body.url)", nil, "waits for run.body.url"},
		{`{"kind": "X", "metadata": {"name": run.body.id}, "spec": {"n": 1, "list": [1, "a", run.status]}}`, map[string]any{
			"kind": "X", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"n": int64(1), "list": []any{int64(1), "a", int64(200)}},
		}, ""},
		{`{"kind": "X", "spec": {"n": 1, "url": run.body.url}}`, nil, "waits for run.body.url"},
		{`[1, 2].map(x, {"a": x, "b": "c"}).filter(y, y.a in [2, "z"])`, []any{map[string]any{"a": int64(2), "b": "c"}}, ""},
		{"run.body.id + 1", nil, "+ doesn't take a string and a number"},
		{"runs.body", nil, `no variable "runs"`},
		{"run.", nil, "syntax error"},
	} {
		var b Budget
		p, issues := v.Compile(test.expr, &b)
		if len(issues) > 0 {
			if test.err == "" || !strings.Contains(issues[0].Message, test.err) {
				t.Errorf("%s: %v", test.expr, issues)
			}
			continue
		}
		got, err := p.Eval(data)
		if err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) || err == nil && test.err != "" {
			t.Errorf("%s: %v, want %s", test.expr, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); err == nil && diff != "" {
			t.Errorf("%s: %s", test.expr, diff)
		}
	}
}
