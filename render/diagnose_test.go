package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render/diagnose"
)

const header = "apiVersion: example.org/v1\nkind: K\nmetadata: {name: a}\n"

// corpus is a module and its instances from a script that specifies `pequod
// validate`. Together the scripts have every known kind of schema and mistake.
type corpus struct {
	name string
	p    *Platform
	docs []*Instance
}

func scripts(t testing.TB) []corpus {
	t.Helper()
	files, err := filepath.Glob("../cli/testdata/script/validate_*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatalf("scripts: %v %v", files, err)
	}
	var all []corpus
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fsys, dir := fstest.MapFS{}, ""
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, ".cue") {
				continue
			}
			fsys[f.Name] = &fstest.MapFile{Data: f.Data}
			if filepath.Base(f.Name) == "schema.cue" {
				dir = filepath.ToSlash(filepath.Dir(f.Name))
			}
		}
		root, _, _ := strings.Cut(dir, "/")
		c := corpus{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), p: platform(t, sub(t, fsys, root), strings.TrimPrefix(dir[len(root):], "/"))}
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, ".yaml") {
				continue
			}
			for in, ps := range Instances(f.Name, f.Data) {
				if ps.Failed() {
					t.Fatalf("%s: %v", file, ps)
				}
				in.SetNamespaces(c.p, "default")
				c.docs = append(c.docs, in)
			}
		}
		all = append(all, c)
	}
	return all
}

func sub(t testing.TB, fsys fstest.MapFS, dir string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for name, f := range fsys {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = f
		}
	}
	return out
}

func platform(t testing.TB, fsys fstest.MapFS, dir string) *Platform {
	t.Helper()
	m, err := Load(Source{FS: fsys, Dir: dir, Ref: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlatform("shop", v1alpha1.TransformSpec{}, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// normalizedData returns the data of an instance as the API server would store it.
func normalizedData(in *Instance, p *Platform, b *builtModule) *ast.StructLit {
	data := in.data(p)
	if normalized, _ := diagnose.Normalize(data, b.root.LookupPath(cue.ParsePath("#Input"))); normalized != nil {
		return normalized
	}
	return data
}

// oracle returns CUE's own error about a normalized instance: of #Input for its
// spec, and of #Render for the whole, in a new context.
func oracle(in *Instance, p *Platform) error {
	b := p.Module.build()
	data := normalizedData(in, p, b)
	check := func(def ast.Expr, e ast.Expr) error {
		f := &ast.File{Decls: []ast.Decl{&ast.EmbedDecl{Expr: ast.NewBinExpr(token.AND, def, e)}}}
		return b.ctx.BuildFile(f, cue.Scope(b.root)).Validate(cue.Concrete(true), cue.All())
	}
	if err := check(ast.NewIdent("#Input"), cuesyntax.Field(data, "spec").Value); err != nil {
		return err
	}
	return check(ast.NewSel(ast.NewIdent("#Render"), "input"), data)
}

// jargon lists terms of CUE that must not appear in messages.
var jargon = []string{"_|_", "disjunction", "field not allowed", "incomplete value", "conflicting values", "non-concrete", "fits none of the alternatives"}

// faults returns the defects of the diagnosis of an instance: a verdict other than
// CUE's, a problem of several lines, several problems for one path, a problem
// without a position in the instance, or one with jargon.
func faults(in *Instance, p *Platform) []string {
	var all []string
	fault := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	res := (&Renderer{}).Render(in, p)
	err := oracle(in, p)
	if res.Problems.Failed() != (err != nil) {
		fault("problems: %v\nCUE: %v", res.Problems, err)
	}
	if err != nil {
		// Render falls back on CUE's errors if the walk does not finish.
		b := p.Module.build()
		found := diagnose.Instance(b.root, normalizedData(in, p, b), err, b.inputAlone)
		if found.OverBudget || found.Panic != nil {
			fault("the walk ended early: over budget %v, panic %v", found.OverBudget, found.Panic)
		}
	}
	seen := map[string]bool{}
	for _, q := range res.Problems {
		line := q.String()
		if strings.Contains(line, "\n") {
			fault("more than one line: %q", line)
		}
		if q.Path == "" || q.Position.File != in.File || q.Position.Line == 0 {
			fault("no position: %s", line)
		}
		for _, word := range jargon {
			if strings.Contains(q.Message+q.Hint, word) {
				fault("words of CUE: %s", line)
			}
		}
		if q.Severity == problem.Error && seen[q.Path] {
			fault("two lines for %s: %v", q.Path, res.Problems)
		}
		seen[q.Path] = seen[q.Path] || q.Severity == problem.Error
	}
	return all
}

func TestDiagnosisAgreesWithCUE(t *testing.T) {
	for _, c := range scripts(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range c.docs {
				for _, fault := range faults(in, c.p) {
					t.Error(fault)
				}
			}
		})
	}
}

// good is an instance that its platform accepts.
type good struct {
	p    *Platform
	data []byte
}

func goodOnes(t testing.TB) (all []good, names []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range scripts(t) {
		for _, in := range c.docs {
			if oracle(in, c.p) != nil {
				continue
			}
			data, err := cuecontext.New().BuildExpr(in.doc).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, good{c.p, data})
			collect(seen, data)
		}
	}
	return all, slices.Sorted(maps.Keys(seen))
}

// broken returns a good instance with mistakes that the bytes choose, or nil if the
// result is not an instance.
func broken(t testing.TB, all []good, names []string, b []byte) (*Instance, *Platform, []byte) {
	m := &mutator{bytes: b, names: names}
	g := all[m.pick(len(all))]
	var doc map[string]any
	if err := json.Unmarshal(g.data, &doc); err != nil {
		t.Fatal(err)
	}
	for range 1 + m.pick(4) {
		doc["spec"] = m.mutate(doc["spec"])
	}
	data, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for in, ps := range Instances("app.yaml", data) {
		if !ps.Failed() {
			in.SetNamespaces(g.p, "default")
			return in, g.p, data
		}
	}
	return nil, nil, nil
}

// FuzzDiagnosis breaks good instances at random.
func FuzzDiagnosis(f *testing.F) {
	all, names := goodOnes(f)
	for i := range all {
		f.Add([]byte{byte(i), 1, 0, 1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 40 {
			return
		}
		in, p, data := broken(t, all, names, b)
		if in == nil {
			return
		}
		for _, fault := range faults(in, p) {
			t.Errorf("%s\n%s", fault, data)
		}
	})
}

func collect(names map[string]bool, data []byte) {
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			for k, v := range x {
				names[k] = true
				walk(v)
			}
		case []any:
			for _, v := range x {
				walk(v)
			}
		}
	}
	var doc any
	if json.Unmarshal(data, &doc) == nil {
		walk(doc)
	}
}

// mutator changes data by choices that it reads from bytes. Without bytes it takes
// the first choice.
type mutator struct {
	bytes []byte
	names []string
}

func (m *mutator) pick(n int) int {
	if len(m.bytes) == 0 || n == 0 {
		return 0
	}
	b := m.bytes[0]
	m.bytes = m.bytes[1:]
	return int(b) % n
}

func (m *mutator) mutate(v any) any {
	switch x := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(x))
		if len(keys) == 0 || m.pick(4) == 3 {
			x[m.name()] = m.value(2)
			return x
		}
		k := keys[m.pick(len(keys))]
		switch m.pick(6) {
		case 0:
			delete(x, k)
		case 1:
			old := x[k]
			delete(x, k)
			x[k+"x"] = old
		case 2:
			x[k] = m.value(2)
		default:
			x[k] = m.mutate(x[k])
		}
		return x
	case []any:
		if len(x) == 0 || m.pick(4) == 3 {
			return append(x, m.value(2))
		}
		i := m.pick(len(x))
		x[i] = m.mutate(x[i])
		return x
	}
	return m.value(2)
}

func (m *mutator) name() string {
	if len(m.names) == 0 || m.pick(8) == 7 {
		return "other"
	}
	return m.names[m.pick(len(m.names))]
}

func (m *mutator) value(depth int) any {
	plain := []any{nil, "", "a", "gold", "s3", "daily", "cloud", 0, 1, 5, -1, 100000, 1.5, true, false, "5", map[string]any{}, []any{}}
	switch i := m.pick(len(plain) + 4); {
	case i < len(plain):
		return plain[i]
	case i < len(plain)+2 && depth > 0:
		return map[string]any{m.name(): m.value(depth - 1), m.name(): m.value(depth - 1)}
	case depth > 0:
		return []any{m.value(depth - 1), m.value(depth - 1)}
	}
	return "deep"
}

// TestDiagnosisTooLong checks that an instance whose diagnosis exceeds the budget
// still gets a problem for each mistake, from CUE's errors.
func TestDiagnosisTooLong(t *testing.T) {
	p := platform(t, fstest.MapFS{"schema.cue": {Data: []byte(`package shop
#Input: {
	many?: [string]: {image: string, port: int & >0}
	union?: {kind: "a", x: int} | {kind: "b", z: int}
}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: {}
}`)}}, "")
	doc := header + "spec:\n  union: {kind: a, x: w}\n  many:\n"
	const n = 3000
	for i := range n {
		doc += fmt.Sprintf("    m%d: {image: 5, port: 0}\n", i)
	}
	for in, ps := range Instances("app.yaml", []byte(doc)) {
		if ps.Failed() {
			t.Fatal(ps)
		}
		in.SetNamespaces(p, "default")
		start := time.Now()
		got := (&Renderer{}).Render(in, p).Problems
		t.Logf("%d problems in %v", len(got), time.Since(start))
		if len(got) != 2*n+1 {
			t.Fatalf("%d problems, want %d: %v", len(got), 2*n+1, got[:min(3, len(got))])
		}
		var lines []string
		for _, q := range got[:3] {
			lines = append(lines, q.String())
		}
		want := []string{
			`app.yaml:5:3: spec.union: fits none of the alternatives`,
			`app.yaml:7:17: spec.many.m0.image: 5 is not string (/schema.cue:3:27)`,
			`app.yaml:7:26: spec.many.m0.port: 0 is not >0 (/schema.cue:3:47)`,
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
	}
}

// TestDiagnosisIsFast bounds the time for an instance with many mistakes.
func TestDiagnosisIsFast(t *testing.T) {
	module := func(input string) *Platform {
		return platform(t, fstest.MapFS{"schema.cue": {Data: []byte("package shop\n#Input: {\n" + input + `}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: {}
}`)}}, "")
	}
	var fields string
	for i := range 300 {
		fields += fmt.Sprintf("\tf%d?: int & >%d\n", i, i)
	}
	wide, deep := module(fields), module(`
	many?: [string]: {image: string, port: int & >0}
	list?: [...{name: string, kind: "a" | "b"}]
	union?: [string]: {kind: "a", x: int} | {kind: "b", z: int}
`)
	lines := func(format string) string {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, spec := range map[string]string{
		"wrong type":    lines("  f%d: x\n"),
		"out of bound":  lines("  f%d: 0\n"),
		"unknown":       lines("  g%d: 0\n"),
		"wrong in map":  "  many:\n" + lines("    m%d: {image: 5, port: 0}\n"),
		"missing":       "  many:\n" + lines("    m%d: {image: x}\n"),
		"wrong in list": "  list:\n" + lines("  - {name: n%d, kind: c}\n"),
		"union":         "  union:\n" + lines("    m%d: {kind: a, z: 5}\n"),
		"one of many":   lines("  f%d: 1000\n") + "  f300: x\n",
	} {
		t.Run(name, func(t *testing.T) {
			doc, p := header+"spec:\n"+spec, deep
			if !strings.Contains(spec, ":\n") {
				p = wide
			}
			for in, ps := range Instances("app.yaml", []byte(doc)) {
				if ps.Failed() {
					t.Fatal(ps)
				}
				in.SetNamespaces(p, "default")
				start := time.Now()
				res := (&Renderer{}).Render(in, p)
				took := time.Since(start)
				t.Logf("%d problems in %v", len(res.Problems), took)
				if want := 300; name != "one of many" && len(res.Problems) < want {
					t.Errorf("%d problems, want %d at least", len(res.Problems), want)
				}
				// A second on an idle machine; tests run beside others.
				if took > 10*time.Second {
					t.Errorf("%d problems took %v", len(res.Problems), took)
				}
			}
		})
	}
}
