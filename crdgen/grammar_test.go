package crdgen

import (
	"fmt"
	"strings"
)

// grammar makes schemas and documents of the bytes that it is given.
type grammar struct {
	data []byte
	i    int
	// fields are those of the schema, for documents to use.
	fields []sample
	// numbers are the fields that bounds name, but for a few: CUE v0.17.1
	// overflows the stack over many bounds that are no numbers.
	numbers []string
	// bounded are the fields with bounds, to which few conditions add anything,
	// for the same reason.
	bounded map[string]bool
	// definitions are declarations at file scope that fields use.
	definitions []string
}

// sample is a field with texts of values that may fit.
type sample struct {
	name   string
	values []string
}

func (g *grammar) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[g.i%len(g.data)]
	// A second round over the bytes makes other choices.
	n2 := (int(b) + 31*(g.i/len(g.data))) % n
	g.i++
	return n2
}

func (g *grammar) pick(of ...string) string { return of[g.next(len(of))] }

const fieldNames = "abcdef"

func (g *grammar) schema() string {
	var b strings.Builder
	b.WriteString("import (\n\t\"strings\"\n\t\"list\"\n\t\"math\"\n\t\"time\"\n\t\"struct\"\n)\n")
	b.WriteString("_use: [strings.MinRunes, list.MinItems, math.MultipleOf, time.Duration, struct.MinFields]\n")
	b.WriteString("#Def: {x: int & >=0, y?: string}\n#Input: {\n")
	n := 2 + g.next(3)
	for i := range n {
		name := string(fieldNames[i])
		expr, values := g.expr(2, i)
		if strings.ContainsAny(expr, "<>!") {
			g.bounded[name] = true
		}
		if strings.HasPrefix(expr, "int") || strings.HasPrefix(expr, "*1") {
			g.numbers = append(g.numbers, name)
		}
		fmt.Fprintf(&b, "\t%s%s: %s\n", name, g.pick("", "", "?", "?", "!"), expr)
		g.fields = append(g.fields, sample{name: name, values: values})
	}
	for range g.next(3) {
		g.condition(&b, n)
	}
	if g.next(12) == 0 {
		b.WriteString("\t...\n")
	}
	b.WriteString("}\n")
	for _, d := range g.definitions {
		b.WriteString(d + "\n")
	}
	return b.String()
}

// number names a field for a bound.
func (g *grammar) number() string {
	any := g.next(16) == 0
	switch {
	case any:
		return string(fieldNames[g.next(len(fieldNames))])
	case len(g.numbers) == 0:
		return "1"
	}
	return g.numbers[g.next(len(g.numbers))]
}

func (g *grammar) ref(n int) string {
	if n == 0 {
		return "1"
	}
	return string(fieldNames[g.next(n)])
}

// condition writes an if over the fields, whose body mostly adds to a later one:
// CUE v0.17.1 overflows the stack over some cycles.
func (g *grammar) condition(b *strings.Builder, n int) {
	i := g.next(n)
	a := string(fieldNames[i])
	test := g.pick(a+" != _|_", a+" == _|_", a+" == 1", a+` == "a"`, a, a+" > 1", "!"+a, a+" != _|_ if "+a+" == 1", "len("+a+") > 1")
	name := string(fieldNames[i+1+g.next(len(fieldNames)-i-1)])
	switch g.next(16) {
	case 0:
		name = string(fieldNames[g.next(len(fieldNames))])
	case 1: // bounded or not
	default:
		if g.bounded[name] {
			name = "f"
		}
	}
	expr, values := g.scalar()
	fmt.Fprintf(b, "\tif %s {\n\t\t%s%s: %s\n\t}\n", test, name, g.pick("", "?", "!"), expr)
	g.fields = append(g.fields, sample{name: name, values: values})
}

func (g *grammar) scalar() (string, []string) {
	switch g.next(22) {
	case 0:
		return "int", []string{"1", "x", "0"}
	case 1:
		return "string", []string{"a", "1"}
	case 2:
		return "bool", []string{"true", "false", "a"}
	case 3:
		return "number", []string{"1", "1.5", "a"}
	case 4:
		return "int & >=1 & <5", []string{"1", "5", "4", "0"}
	case 5:
		return `"a" | "b"`, []string{"a", "b", "c", "1"}
	case 6:
		return "1 | 2 | \"a\"", []string{"1", "2", "3", "a", "b"}
	case 7:
		return `=~"^a"`, []string{"a", "ab", "b", "1"}
	case 8:
		return `string & !~"b$"`, []string{"a", "b", "ab"}
	case 9:
		return "!=1", []string{"1", "2", "a", "true"}
	case 10:
		return "<0 | >3", []string{"-1", "0", "4"}
	case 11:
		return "strings.MinRunes(2)", []string{"a", "ab", "1"}
	case 12:
		return "null | int", []string{"null", "1", "a"}
	case 13:
		return "*1 | int", []string{"1", "2", "a"}
	case 14:
		return `*"a" | "b"`, []string{"a", "b", "c"}
	case 15:
		return "*true | bool", []string{"true", "false", "1"}
	case 16:
		return "int | string", []string{"1", "a", "true", "1.5"}
	case 17:
		return "int & math.MultipleOf(2)", []string{"2", "3", "0"}
	case 18:
		return "float", []string{"1.5", "1", "a"}
	case 19:
		return "time.Duration", []string{"1s", "a", "1"}
	case 20:
		return "true", []string{"true", "false", "1"}
	}
	return "_", []string{"1", "a", "null", "[1]", "{x: 1}"}
}

// expr is the expression of the field i and values that may fit it.
func (g *grammar) expr(depth, i int) (string, []string) {
	if depth == 0 {
		return g.scalar()
	}
	if g.next(3) == 0 {
		return g.idiom(depth, i)
	}
	switch g.next(37) {
	case 0:
		e, v := g.expr(depth-1, i)
		return "[..." + e + "]", listsOf(v)
	case 1:
		e, v := g.scalar()
		return "[..." + e + "] & list." + g.pick("MinItems(1)", "MaxItems(1)", "UniqueItems()"), listsOf(v)
	case 2:
		e, v := g.expr(depth-1, i)
		u, w := g.expr(depth-1, i)
		return "[" + e + ", " + u + g.pick("", ", ...int", ", ...") + "]", []string{"[" + v[0] + ", " + w[0] + "]", "[" + v[1] + ", " + w[0] + "]", "[" + v[0] + "]", "[" + v[0] + ", " + w[1] + ", 1]"}
	case 3:
		e, v := g.expr(depth-1, i)
		return "{[string]: " + e + "}", mapsOf(v)
	case 4:
		e, v := g.scalar()
		return `{[=~"^k"]: ` + e + "}" + g.pick("", " & struct.MaxFields(1)", " & struct.MinFields(1)"), mapsOf(v)
	case 5, 6:
		return g.structLit(depth, i)
	case 7:
		a, v := g.structLit(depth, i)
		b, w := g.structLit(depth, i)
		return g.pick("", "*") + a + " | " + b + g.pick("", "", " | *{x: 1}"), append(v, w...)
	case 8:
		return `{k: "p", x: int} | {k: "q", y: string} | {k: "r"}`, []string{"{k: p, x: 1}", "{k: q, x: 1}", "{k: q, y: a}", "{x: 1}", "{k: r}", "{k: r, x: 1}", "{}"}
	case 9:
		return `{u!: int} | {v!: string}`, []string{"{u: 1}", "{v: a}", "{u: 1, v: a}", "{}", "{u: a}"}
	case 10:
		return "#Def", []string{"{x: 1}", "{x: -1}", "{x: 1, y: a}", "{z: 1}", "{x: 1, y: 1}"}
	case 11:
		a, v := g.scalar()
		return "[...(" + a + ")] | (" + a + ")", append(listsOf(v), v...)
	case 12:
		a, v := g.scalar()
		b, w := g.scalar()
		return "(" + a + ") | (" + b + ")", append(v, w...)
	case 13:
		a, v := g.scalar()
		b, w := g.scalar()
		return "(" + a + ") & (" + b + ")", append(v, w...)
	case 14:
		return g.pick("int & ", "") + g.pick(">=", "<", "!=", ">") + g.number(), []string{"1", "0", "3", "a"}
	case 15:
		return "*2 | int & >=" + g.number(), []string{"1", "0", "3", "a"}
	case 16:
		return g.pick("", "", "*", "5 | ", "*1 | ", "*5 | int & >=") + g.ref(i) + g.pick("", "", " | "+g.ref(i), " | 5"), []string{"1", "0", "5", "a", "true"}
	case 17:
		a, v := g.scalar()
		b, w := g.scalar()
		return "matchN(" + g.pick("1", ">=1", "0", "2") + ", [" + a + ", " + b + "])", append(v, w...)
	case 18:
		a, v := g.scalar()
		b, w := g.scalar()
		return "matchIf(" + a + ", " + b + ", " + g.pick("_", "int", `"a"`) + ")", append(v, w...)
	case 19:
		return "{x?: int, y?: int, matchN(" + g.pick("1", ">=1") + ", [{x!: _}, {y!: " + g.pick("_", "1") + "}])}", []string{"{x: 1}", "{y: 1}", "{x: 1, y: 1}", "{}", "{y: 2}", "{x: 1, y: 2}"}
	case 20:
		op := g.pick("<=", "!=", ">")
		return "[...{n: int, p?: int & " + g.pick(">=n", "!=n", "n") + ", m?: " + op + g.number() + "}]", []string{"[]", "[{n: 1}]", "[{n: 1, m: 1}]", "[{n: 0, p: 1}, {n: 1, p: 0, m: 2}]", "[{n: 1, m: a}]"}
	case 21:
		return "{[string]: {n: int & " + g.pick("<=", "!=", ">=") + g.number() + "}}", []string{"{}", "{k: {n: 1}}", "{k: {n: 0}, l: {n: 3}}", "{k: {n: a}}"}
	case 22:
		return `{k: "p", x?: int & >1, y: *1 | int} | {k: "q", x?: string} | {k: *"r" | "s", z?: bool}`, []string{"{k: p}", "{x: 2}", "{x: a}", "{x: 1}", "{z: true}", "{k: s, z: 1}", "{}", "{k: q, x: a}", "{k: r, x: 2}"}
	case 23:
		return "#Def & {x: " + g.pick("<5", "int", ">=2", "1") + g.pick("", ", y: string") + "}", []string{"{x: 1}", "{x: 7}", "{x: 1, y: a}", "{x: 3, z: 1}", "{}"}
	case 24:
		return "{#Def, w?: " + g.pick("int", "x", ">x") + "}", []string{"{x: 1}", "{x: 1, w: 1}", "{x: 1, w: 2}", "{x: 1, w: a}", "{w: 1}"}
	case 25:
		return `{a?: 1 | 2} | {b?: "s" | "t"}`, []string{"{a: 1}", "{b: s}", "{}", "{a: 1, b: s}", "{a: 3}"}
	case 26:
		return "{s: {t: " + g.pick("*1 | int", "int", "int | *null") + ", u?: <" + g.number() + "}}", []string{"{}", "{s: {t: 1}}", "{s: {t: 1, u: 0}}", "{s: {t: 2, u: 3}}", "{s: {}}"}
	case 27:
		return `"\(` + g.ref(i) + `)-x"`, []string{"1-x", "a-x", "x", "1"}
	case 28:
		a, v := g.structLit(depth, i)
		b, w := g.structLit(depth, i)
		return "(" + g.pick("", "*") + a + " | " + b + ") & struct." + g.pick("MinFields(1)", "MaxFields(1)", "MinFields(0)"), append(v, w...)
	case 29:
		a, v := g.scalar()
		return "matchN(" + g.pick("1", ">=1") + ", [" + g.ref(i) + ", " + a + "])", append(v, "1", "a")
	case 30:
		return `*{k: "p"} | {k!: "q", x` + g.pick("", "?", "!") + ": " + g.pick("int", "*1 | int", g.ref(i)) + "} | {k: " + g.pick(`"r"`, `"p"`) + ", z?: int}", []string{"{}", "{k: p}", "{k: q}", "{k: q, x: 1}", "{k: r}", "{x: 1}", "{z: 1}", "{k: p, z: 1}", "{k: r, x: 1}"}
	case 31:
		e, v := g.structLit(depth, i)
		return g.pick("", "", "*[{x: 1}] | ") + "[..." + e + "]" + g.pick("", " & list.MaxItems(2)", " & list.UniqueItems()"), listsOf(v)
	case 32:
		a, v := g.scalar()
		return "{n: " + g.pick("int", "*1 | int", "1 | 2") + ", let m = n, o?: m, p?: m | " + a + "}", []string{"{}", "{n: 1}", "{n: 2, o: 2}", "{o: 1}", "{n: 1, o: 2}", "{n: 2, p: 2}", "{p: 2}", "{p: " + v[0] + "}"}
	case 34:
		return "{l: [...int" + g.pick("", " | string") + "], m?: " + g.pick("or(l) | 0", "or(l)", "len(l)", "*7 | or(l)", "int & <len(l)", "l[0]") + g.pick("", ", n: *1 | 2 | (len(l)+1)") + "}", []string{"{}", "{l: [1]}", "{l: [1], m: 1}", "{l: [1, 2], m: 2}", "{l: [], m: 0}", "{l: [5], m: 0}", "{l: [a], m: a}", "{l: [1], n: 2}", "{l: [1, 3], n: 3}"}
	case 35:
		n := g.number()
		return g.pick("*1 | "+n, n+" | *1", n+" + 1", n+" * 2", "int & >("+n+"+1)", "int & <=(2*"+n+")", "int & !=("+n+"-1)"), []string{"1", "0", "2", "3", "5", "9223372036854775807", "a"}
	case 36:
		a, v := g.scalar()
		b, w := g.scalar()
		n := g.number()
		return "{if " + n + " == 1 {" + a + "}" + g.pick("", ", if "+n+" != 1 {"+b+"}") + "}", append(v, w...)
	case 33:
		a, v := g.scalar()
		return "{[string]: " + a + ", x" + g.pick("", "?", "!") + ": _}", append(mapsOf(v), "{x: "+v[0]+"}", "{x: "+v[1]+", k: "+v[0]+"}")
	}
	return g.scalar()
}

func (g *grammar) structLit(depth, i int) (string, []string) {
	var fields []string
	docs := []string{"{}"}
	full := ""
	for _, name := range []string{"x", "y"}[:1+g.next(2)] {
		e, v := g.expr(depth-1, i)
		fields = append(fields, name+g.pick("", "?", "!")+": "+e)
		docs = append(docs, "{"+name+": "+v[0]+"}", "{"+name+": "+v[len(v)-1]+"}")
		full += name + ": " + v[g.next(len(v))] + ", "
	}
	if g.next(5) == 0 {
		fields = append(fields, "z?: >=x")
		full += "z: " + g.pick("1", "0", "5") + ", "
	}
	if g.next(6) == 0 {
		fields = append(fields, `if x == 1 {w: int}`)
		full += g.pick("", "w: 1, ")
	}
	if g.next(8) == 0 {
		fields = append(fields, "...")
	}
	return "{" + strings.Join(fields, ", ") + "}", append(docs, "{"+full+"}", "{q: 1}")
}

func listsOf(v []string) []string {
	return []string{"[]", "[" + v[0] + "]", "[" + v[len(v)-1] + "]", "[" + v[0] + ", " + v[0] + "]", "[" + v[0] + ", " + v[1] + "]"}
}

func mapsOf(v []string) []string {
	return []string{"{}", "{k: " + v[0] + "}", "{k: " + v[1] + "}", "{k1: " + v[0] + ", k2: " + v[0] + "}", "{other: " + v[0] + "}"}
}

// document gives most fields a value that may fit.
func (g *grammar) document() string {
	var out []string
	seen := map[string]bool{}
	for _, f := range g.fields {
		if seen[f.name] || g.next(6) == 0 {
			continue
		}
		seen[f.name] = true
		out = append(out, f.name+": "+f.values[g.next(len(f.values))])
	}
	if g.next(15) == 0 {
		out = append(out, "zz: 1")
	}
	return "{" + strings.Join(out, ", ") + "}"
}
