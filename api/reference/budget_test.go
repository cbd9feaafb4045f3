package reference

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// dear are expressions that cost as much time as is possible with a given number of
// operations. They differ for every k.
var dear = map[string]func(k, operations int) string{
	"indexes":   func(k, n int) string { return fmt.Sprintf("a.x%d", k) + strings.Repeat("[0]", n) },
	"additions": func(k, n int) string { return fmt.Sprintf("a.x%d", k) + strings.Repeat("+a", n) },
	"lists":     func(k, n int) string { return fmt.Sprintf("[%d", k) + strings.Repeat(",a.x=='b'?1:2", n/2) + "]" },
	"literals": func(k, n int) string {
		return fmt.Sprintf("[[%d]", k) + strings.Repeat(",[0]", n/2) + "]" + strings.Repeat("+[]", n/4)
	},
	"maps":      func(k, n int) string { return fmt.Sprintf("a.x%d", k) + strings.Repeat(".map(x,x)", n/4) },
	"own maps":  func(k, n int) string { return fmt.Sprintf("[%d]", k) + strings.Repeat(".map(x,{x:x})", n/6) },
	"filters":   func(k, n int) string { return fmt.Sprintf("a.x%d", k) + strings.Repeat(".filter(x,x)", n/5) },
	"nested":    func(k, n int) string { return nest(n/MaxNesting/3, fmt.Sprintf("a.x%d", k)) },
	"deep":      func(k, n int) string { return deep(k, n) },
	"optionals": func(k, n int) string { return fmt.Sprintf("a.?x%d", k) + strings.Repeat(".or(a.?x)", n/2) },
	"members": func(k, n int) string {
		return fmt.Sprintf("a.x%d in [", k) + strings.Repeat("a.x in a.x,", n/2) + "a.x in a]"
	},
	"equations": func(k, n int) string { return fmt.Sprintf("a.x%d", k) + strings.Repeat("==a.x", n) },
	"conjuncts": func(k, n int) string { return fmt.Sprintf("a.x%d", k) + strings.Repeat("&&a.x=='b'", n/2) },
	"selects":   func(k, n int) string { return fmt.Sprintf("a.x%d", k) + strings.Repeat(".x", n) },
	"texts":     func(k, n int) string { return fmt.Sprintf("'%d%s'", k, strings.Repeat("x", 4*n)) },
	"groups": func(k, n int) string {
		return strings.Repeat("(", min(n, 60)) + fmt.Sprint(k) + strings.Repeat(")", min(n, 60))
	},
	"patterns": func(k, _ int) string { return fmt.Sprintf("a.x%d.matches('%s')", k, "(ab|cd){90}") },
}

// nest returns loops that contain each other.
func nest(loops int, inner string) string {
	for i := range MaxNesting/2 - 1 {
		inner = fmt.Sprintf("a.map(v%d,%s)%s", i, inner, strings.Repeat("+a", loops))
	}
	return inner
}

// deep returns an expression of a type that is as deep and wide as possible.
func deep(k, operations int) string {
	inner := fmt.Sprint(k)
	for range 6 {
		inner = "{" + inner + ":" + inner + "}"
	}
	return "[" + inner + "]" + strings.Repeat("+[]", max(operations-64, 0)/2)
}

// BenchmarkBudget compiles expressions until the budget of a graph is spent: the most
// expensive graphs that are accepted.
func BenchmarkBudget(b *testing.B) {
	scope, k := NewNodeSet([]string{"a"}), 0
	for name, expr := range dear {
		for _, operations := range []int{2, 20, 100, 200} {
			b.Run(fmt.Sprintf("%s/%d", name, operations), func(b *testing.B) {
				compiled := 0
				for b.Loop() {
					for budget := new(Budget); !budget.Exceeded(); k++ {
						if text := expr(1000+k, operations); len(text) > MaxLength {
							b.Skip("too long")
						} else if _, issues := scope.Compile(text, budget); len(issues) > 0 && !budget.Exceeded() {
							b.Fatalf("%.200s: %v", text, issues)
						}
						compiled++
					}
				}
				b.ReportMetric(float64(compiled)/float64(b.N), "expressions")
			})
		}
	}
}

// allocated returns how many bytes are allocated to compile an expression: on any
// machine a measure of the time.
func allocated(t *testing.T, expr string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, issues := NewNodeSet([]string{"a"}).Compile(expr, nil); len(issues) > 0 {
		t.Fatalf("%.100s: %v", expr, issues)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The types of macros over lists that the expression builds itself don't double with
// every macro.
func TestTypesStaySmall(t *testing.T) {
	for name, expr := range map[string]func(n int) string{
		"map": func(n int) string { return "[0]" + strings.Repeat(".map(x,{x:x})", n) },
		"nested": func(n int) string {
			return "[0].map(x," + strings.Repeat("[{x:x}].map(x,", n-1) + "x" + strings.Repeat(")", n)
		},
		"optMap": func(n int) string {
			return "optional.of({0:0})" + strings.Repeat(".optMap(x,{x:{x:{x:{x:{x:x}}}}})", (n+4)/5)
		},
	} {
		t.Run(name, func(t *testing.T) {
			allocated(t, "a") // creates the environment
			small, large := allocated(t, expr(5)), allocated(t, expr(15))
			if large > 15*small {
				t.Errorf("three times as many macros allocate %d bytes instead of %d", large, small)
			}
		})
	}
}

// Expressions over lists that they build themselves have the same values as ever.
func TestLoosened(t *testing.T) {
	for expr, want := range map[string]any{
		"[1, 2].map(x, x + 1).filter(x, x > 2)[0]":                   int64(3),
		"{'a': 1}.all(k, k == 'a')":                                  true,
		"[[1], [2]].map(x, x.map(y, y * 2)).exists(x, x == [4])":     true,
		"optional.of([1]).optMap(x, x.map(y, y + 1)).orValue([])[0]": int64(2),
		"[1, 2].all(i, v, v == i + 1)":                               true,
		"{'a': 1}.transformMap(k, v, v + 1)['a']":                    int64(2),
	} {
		e, issues := NewNodeSet([]string{"a"}).Compile(expr, nil)
		if len(issues) > 0 {
			t.Errorf("%s: %v", expr, issues)
			continue
		}
		program, err := e.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := program.Eval(nil); got != want || err != nil {
			t.Errorf("%s: %v, error %v; want %v", expr, got, err, want)
		}
	}
}

func TestRefusedExpressions(t *testing.T) {
	for name, test := range map[string]struct{ expr, want string }{
		"nested lists": {strings.Repeat("[", 21) + strings.Repeat("]", 21),
			"the expression nests 21 lists, maps and macros; the limit is 20"},
		"nested optionals": {strings.Repeat("optional.of(", 21) + "a" + strings.Repeat(")", 21),
			"the expression nests 21 lists, maps and macros; the limit is 20"},
		"repeated pattern": {"a.x.matches('(abcdefghij){101}')",
			`the regular expressions up to "(abcdefghij){101}" have 1212 instructions; the limit is 1000`},
		"many patterns": {"a.x.find('a{300}') + a.x.findAll('b{300}')[0]",
			`the regular expressions up to "b{300}" have 1200 instructions; the limit is 1000`},
		"function": {"matches(a.x, 'x{1000}y')",
			`the regular expressions up to "x{1000}y" have 2002 instructions; the limit is 1000`},
	} {
		t.Run(name, func(t *testing.T) {
			_, issues := NewNodeSet([]string{"a"}).Compile(test.expr, nil)
			if len(issues) != 1 || issues[0].Message != test.want {
				t.Errorf("issues %v; want %s", issues, test.want)
			}
		})
	}
}

// Regular expressions that are only known in an evaluation have the same limit.
func TestComputedPatterns(t *testing.T) {
	data := map[string]any{"a": map[string]any{"text": "xyz", "large": "(abcdefghij){101}", "small": "x.z"}}
	for _, expr := range []string{
		"a.text.matches(a.%s)", "matches(a.text, a.%s)", "a.text.find(a.%s) == 'xyz'", "a.text.findAll(a.%s)[0] == 'xyz'", "a.text.findAll(a.%s, 1)[0] == 'xyz'",
	} {
		for pattern, want := range map[string]string{"small": "true <nil>", "large": "<nil> a regular expression has more than 1000 instructions"} {
			e, issues := NewNodeSet([]string{"a"}).Compile(fmt.Sprintf(expr, pattern), nil)
			if len(issues) > 0 {
				t.Fatal(issues)
			}
			program, err := e.Plan()
			if err != nil {
				t.Fatal(err)
			}
			if value, err := program.Eval(data); fmt.Sprint(value, " ", err) != want {
				t.Errorf("%s of a %s pattern: %v %v; want %s", expr, pattern, value, err, want)
			}
		}
	}
}

// What expressions cost doesn't depend on which are compiled already, and those that
// have mistakes cost as much as others.
func TestBudgetIsDeterministic(t *testing.T) {
	scope := NewNodeSet([]string{"a"})
	spent := func(exprs ...string) uint64 {
		b := new(Budget)
		for _, expr := range exprs {
			scope.Compile(expr, b)
		}
		return b.spent
	}
	const expr = "a.x + a.y + a.z"
	if first, second := spent(expr), spent(expr); first != second || first == 0 {
		t.Errorf("%d, and %d if it is compiled already", first, second)
	}
	if right, wrong := spent("a.x + string(a.y)"), spent("a.x + strong(a.y)"); right != wrong {
		t.Errorf("a right one costs %d and a wrong one %d", right, wrong)
	}
	b := new(Budget)
	for k := 0; !b.Exceeded(); k++ {
		if _, issues := scope.Compile(fmt.Sprintf("a.x + '%d'", k), b); (len(issues) > 0) != b.Exceeded() {
			t.Fatalf("expression %d: %v", k, issues)
		}
	}
}
