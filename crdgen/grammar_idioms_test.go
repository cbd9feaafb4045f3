package crdgen

import "fmt"

// define declares a value at file scope and returns its name, which begins with
// prefix.
func (g *grammar) define(prefix, value string) string {
	name := fmt.Sprintf("%s%d", prefix, len(g.definitions))
	g.definitions = append(g.definitions, name+": "+value)
	return name
}

// idiom is like expr, for the idioms of modules that are made of several
// expressions.
func (g *grammar) idiom(depth, i int) (string, []string) {
	e, v := "", []string(nil)
	switch g.next(5) {
	case 0:
		e, v = g.parameterized(i)
	case 1:
		return g.ternary(i)
	case 2:
		return g.lookup(i)
	case 3:
		e, v = g.closedAndOpen(depth, i)
	default:
		e, v = g.matched(depth, i)
	}
	switch g.next(8) {
	case 0:
		return "[...(" + e + ")]", listsOf(v)
	case 1:
		return "{[string]: " + e + "}", mapsOf(v)
	case 2:
		return "{k: " + e + "}", append(mapsOf(v), "{}")
	}
	return e, v
}

// test is a condition over the field or parameter called name. A test for absence
// is left out: CUE v0.17.1 takes any scalar for a struct without regular fields that
// has such an if over an open parameter.
func (g *grammar) test(name string) string {
	return g.pick(name+" == 1", name+" != _|_", name+` == "a"`, name+" > 1", name, "!("+name+" == 2)")
}

// parameterized is a definition with a parameter, mostly with an argument.
func (g *grammar) parameterized(i int) (string, []string) {
	a, v := g.scalar()
	p := g.pick("#in", "_in")
	body := p + g.pick("", "", "?", "!") + ": " + g.pick("int", "_", "*1 | int", "string | int", a) + "\n"
	for range 1 + g.next(3) {
		body += "\t" + g.pick(
			"x?: int & >="+p, "x: *"+p+" | int", "x: "+p, "x?: "+p+" | "+a, `y: "\(`+p+`)-x"`, "y: x?: "+p,
			"y?: [if "+g.test(p)+" {"+a+"}, int][0]", "if "+g.test(p)+" {y"+g.pick("", "?", "!")+": "+a+"}", "y?: "+a, "x: int",
		) + "\n"
	}
	name := g.define("#P", "{\n\t"+body+g.pick("", "", "", "\t...\n")+"}")
	argument := "{" + p + ": " + g.pick(g.ref(i), g.ref(i), g.number(), "2", `"a"`, "*"+g.ref(i)+" | 1", g.number()+" + 1") + "}"
	return g.pick(name, name+" & "+argument, name+" & "+argument, "{"+name+", "+argument+"}", name+" & "+argument+" & {x?: _}"),
		[]string{"{}", "{x: 1}", "{x: 0}", "{x: 2, y: " + v[0] + "}", "{y: " + v[1] + "}", "{x: 1, q: 1}", "{y: a-x}", "{y: 1-x, x: 1}", "{y: {x: 1}}"}
}

// ternary chooses a value by a condition over a field.
func (g *grammar) ternary(i int) (string, []string) {
	a, v := g.scalar()
	b, w := g.scalar()
	first := "if " + g.test(g.ref(i)) + " {" + a + "}, "
	return g.pick("", "", "5 | ", "*5 | ") + g.pick(
		"["+first+b+"][0]", "["+first+b+"][0]", "["+first+"if "+g.test(g.ref(i))+" {"+b+"}, 3][0]",
		"["+first+"][0]", "["+first+"{x: "+b+"}][0]",
	), append(append(v, w...), "3", "{x: "+w[0]+"}")
}

// lookup is an element of a table that a field names.
func (g *grammar) lookup(i int) (string, []string) {
	a, v := g.scalar()
	b, w := g.scalar()
	if i == 0 {
		return a, v // there is no field to name an element
	}
	key := g.ref(i)
	table := g.pick("{a: "+a+", b: "+b+"}", `{"1": `+a+`, "5": `+b+", a: 3}", "["+a+", "+b+"]", "{a: {t: "+a+"}, b: {t: "+b+"}}", "{[string]: "+a+"}")
	if table[0] == '{' && g.next(3) == 0 {
		key = `"\(` + key + `)"`
	}
	if g.next(3) > 0 {
		table = g.define("_t", table)
	}
	return g.pick("", "", "int & >=", "*", "1 | ") + table + "[" + key + "]" + g.pick("", "", ".t", " | 5"),
		append(append(v, w...), "{t: "+v[0]+"}", "{t: "+w[0]+"}", "3", "5")
}

// closedAndOpen unifies a closed struct with another one.
func (g *grammar) closedAndOpen(depth, i int) (string, []string) {
	a, v := g.scalar()
	lit, w := g.structLit(depth, i)
	closed := g.pick("#Def", "close("+lit+")", "close({x?: int, y?: "+a+"})", g.define("#C", lit))
	other := g.pick("{...}", "{y?: "+a+"}", "{z?: "+a+"}", "{x: "+a+", ...}", "{[string]: _}", `{[=~"^k"]: `+a+"}", g.define("#D", "{z?: "+a+", ...}"), lit)
	docs := append(w, "{x: 1}", "{x: 1, y: "+v[0]+"}", "{x: 1, z: "+v[0]+"}", "{z: "+v[1]+"}", "{k: "+v[0]+"}")
	switch g.next(8) {
	case 0:
		return "{" + closed + ", " + other + "}", docs
	case 1:
		return "[..." + closed + "] & [..." + other + "]", listsOf(docs)
	case 2:
		return closed + " | " + other, docs
	case 3:
		return "close({s?: " + closed + "}) & {s?: " + other + "}", []string{"{}", "{s: {x: 1}}", "{s: " + docs[1] + "}", "{s: {q: 1}}", "{q: 1}"}
	}
	return closed + " & " + other, docs
}

// matched counts which structs a value is like.
func (g *grammar) matched(depth, i int) (string, []string) {
	a, v := g.scalar()
	lit, w := g.structLit(depth, i)
	of := func() string {
		return g.pick("{x!: _}", "{y!: "+a+"}", "#Def", lit, "{x?: int, ...}", "{x: 1}", a, "close({x: int})", "[..."+a+"]")
	}
	return g.pick("", "", "{x?: int, y?: _} & ", "{x: int, ...} & ", lit+" & ") + "matchN(" + g.pick("1", ">=1", "0", "2", "<2") + ", [" + of() + ", " + of() + g.pick("", ", "+of()) + "])",
		append(append(w, v...), "{x: 1}", "{x: 1, y: "+v[0]+"}", "{y: "+v[0]+"}", "{x: a}", "[]", "["+v[0]+"]")
}
