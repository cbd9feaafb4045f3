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
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// corpus is the modules and instances of the scripts that specify `pequod
// validate`, which hold every kind of schema and mistake that was thought of.
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
				in.Place(c.p, "default")
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

// oracle says what CUE itself thinks of an instance after mending: #Input on its
// spec, and what #Render says of the whole, in a context that nothing was
// evaluated in before.
func oracle(in *Instance, p *Platform) error {
	b := p.Module.build()
	data := in.data(p)
	if mended, _ := mend(data, b.root); mended != nil {
		data = mended
	}
	check := func(def ast.Expr, e ast.Expr) error {
		f := &ast.File{Decls: []ast.Decl{&ast.EmbedDecl{Expr: ast.NewBinExpr(token.AND, def, e)}}}
		return b.ctx.BuildFile(f, cue.Scope(b.root)).Validate(cue.Concrete(true), cue.All())
	}
	if err := check(ast.NewIdent("#Input"), field(data, "spec").Value); err != nil {
		return err
	}
	return check(ast.NewSel(ast.NewIdent("#Render"), "input"), data)
}

// jargon is what no user should read in a message.
var jargon = []string{"_|_", "disjunction", "field not allowed", "incomplete value", "conflicting values", "non-concrete", "matches none of the alternatives"}

// guard holds what is true of every diagnosis.
func guard(t *testing.T, in *Instance, p *Platform) {
	t.Helper()
	res := (&Renderer{}).Render(in, p)
	err := oracle(in, p)
	if res.Problems.Failed() != (err != nil) {
		t.Fatalf("problems: %v\nCUE: %v", res.Problems, err)
	}
	// Without the net that a walk has below it.
	if err != nil {
		b := p.Module.build()
		data := in.data(p)
		if mended, _ := mend(data, b.root); mended != nil {
			data = mended
		}
		(&diagnosis{built: b, data: data, eval: b.inputAlone}).run()
	}
	seen := map[string]bool{}
	for _, q := range res.Problems {
		line := q.String()
		if strings.Contains(line, "\n") {
			t.Errorf("more than one line: %q", line)
		}
		if q.Path == "" || q.Pos.File != in.File || q.Pos.Line == 0 {
			t.Errorf("no place: %s", line)
		}
		for _, word := range jargon {
			if strings.Contains(q.Message+q.Hint, word) {
				t.Errorf("jargon: %s", line)
			}
		}
		if q.Level == Error && seen[q.Path] {
			t.Errorf("two lines for one field: %v", res.Problems)
		}
		seen[q.Path] = seen[q.Path] || q.Level == Error
	}
}

func TestDiagnosisAgreesWithCUE(t *testing.T) {
	for _, c := range scripts(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range c.docs {
				guard(t, in, c.p)
			}
		})
	}
}

// FuzzDiagnosis breaks good instances at random.
func FuzzDiagnosis(f *testing.F) {
	type good struct {
		p    *Platform
		data []byte
	}
	var all []good
	names := map[string]bool{}
	for _, file := range []string{"fields", "types", "values", "unions", "rules", "maps", "definitions"} {
		f.Add([]byte(file))
	}
	for _, c := range scripts(f) {
		for _, in := range c.docs {
			if oracle(in, c.p) == nil {
				v := cuecontext.New().BuildExpr(in.doc)
				data, err := v.MarshalJSON()
				if err != nil {
					f.Fatal(err)
				}
				all = append(all, good{c.p, data})
				collect(names, data)
			}
		}
	}
	pool := slices.Sorted(maps.Keys(names))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 40 {
			return
		}
		m := &mutator{bytes: b, names: pool}
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
			if ps.Failed() {
				return
			}
			in.Place(g.p, "default")
			guard(t, in, g.p)
		}
		if t.Failed() {
			t.Logf("%s\n%s", g.p.Module.Ref, data)
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

// mutator changes data as bytes tell it to; with none left it always takes the
// first choice.
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

// TestDiagnosisIsFast holds the time that many mistakes take.
func TestDiagnosisIsFast(t *testing.T) {
	schema := `package shop
#Input: {
	many?: [string]: {image: string, port: int & >0}
	list?: [...{name: string, kind: "a" | "b"}]
	union?: [string]: {kind: "a", x: int} | {kind: "b", z: int}
`
	for i := range 300 {
		schema += fmt.Sprintf("\tf%d?: int & >%d\n", i, i)
	}
	schema += `}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: {}
}`
	p := platform(t, fstest.MapFS{"schema.cue": {Data: []byte(schema)}}, "")
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
			doc := "apiVersion: pequod.io/v1alpha1\nkind: Shop\nmetadata: {name: a}\nspec:\n" + spec
			for in, ps := range Instances("app.yaml", []byte(doc)) {
				if ps.Failed() {
					t.Fatal(ps)
				}
				in.Place(p, "default")
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
