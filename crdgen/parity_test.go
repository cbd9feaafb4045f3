package crdgen

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/token"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pequod-io/pequod/internal/problem"
)

var table = flag.Bool("table", false, "print the table of TestParity")

// comparison is what CUE and the API server's code say about one document.
type comparison struct {
	cue, crd error
	// changed is how rendering differs after the API server stored the
	// document, as a diff.
	changed string
}

func (c comparison) falselyRejected() bool { return c.cue == nil && c.crd != nil }
func (c comparison) letThrough() bool      { return c.cue != nil && c.crd == nil }

// compare validates a document with CUE and with the CRD. CUE's verdict is the
// expected one.
func compare(module cue.Value, s server, doc []byte) comparison {
	before, mended, err := judge(module, doc)
	stored, crdErr := s.create(doc)
	c := comparison{cue: err, crd: crdErr}
	if mended != nil && crdErr != nil {
		c.cue = mended // only what is stored is mended
	}
	if c.cue != nil || c.crd != nil {
		return c
	}
	after, _, err := judge(module, stored)
	if err != nil {
		c.changed = "rejected as stored: " + err.Error()
		return c
	}
	c.changed = cmp.Diff(before, after)
	return c
}

// judge validates a document with CUE and returns what it renders. Like
// rendering, it mends what an API server mends: it drops a null where the schema
// takes none, and lets an integer stand for a float. mended is CUE's error about
// the document before that.
func judge(module cue.Value, doc []byte) (out any, mended, err error) {
	syntax, err := syntaxOf(doc)
	if err != nil {
		return nil, nil, err
	}
	for {
		v := unify(module, syntax)
		err := v.Validate(cue.Concrete(true), cue.All())
		if err == nil {
			data, err := v.MarshalJSON()
			if err != nil {
				return nil, mended, err
			}
			err = json.Unmarshal(data, &out)
			return out, mended, err
		}
		again := false
		for _, e := range errors.Errors(err) {
			text := e.Error()
			about := strings.Contains(text, "null") || strings.Contains(text, "float") || strings.Contains(text, "disjunction")
			again = about && mendAt(syntax, e.Path()) || again
		}
		if !again {
			return nil, mended, err
		}
		if mended == nil {
			mended = err
		}
	}
}

// mendAt mends the value at path, and reports whether it had to be mended.
func mendAt(e ast.Expr, path []string) bool {
	if len(path) == 0 {
		return false
	}
	var child *ast.Expr
	var drop func()
	switch x := e.(type) {
	case *ast.StructLit:
		for i, d := range x.Elts {
			f, ok := d.(*ast.Field)
			if name, _, _ := ast.LabelName(f.Label); ok && (name == path[0] || fmt.Sprintf("%q", name) == path[0]) {
				child, drop = &f.Value, func() { x.Elts = slices.Delete(x.Elts, i, i+1) }
			}
		}
	case *ast.ListLit:
		for i := range x.Elts {
			if fmt.Sprint(i) == path[0] {
				child, drop = &x.Elts[i], func() {}
			}
		}
	}
	if child == nil {
		return false
	}
	if len(path) > 1 {
		return mendAt(*child, path[1:])
	}
	switch x := (*child).(type) {
	case *ast.StructLit:
		mended := false
		for _, d := range slices.Clone(x.Elts) {
			name, _, _ := ast.LabelName(d.(*ast.Field).Label)
			mended = mendAt(x, []string{name}) || mended
		}
		return mended
	case *ast.ListLit:
		mended := false
		for i := range x.Elts {
			mended = mendAt(x, []string{fmt.Sprint(i)}) || mended
		}
		return mended
	}
	switch x := (*child).(type) {
	case *ast.BasicLit:
		switch x.Kind {
		case token.NULL:
			drop()
			_, inList := e.(*ast.ListLit)
			return !inList
		case token.INT:
			*child = &ast.BasicLit{Kind: token.FLOAT, Value: x.Value + ".0", ValuePos: x.ValuePos}
			return true
		}
	case *ast.UnaryExpr:
		if lit, ok := x.X.(*ast.BasicLit); ok && lit.Kind == token.INT {
			x.X = &ast.BasicLit{Kind: token.FLOAT, Value: lit.Value + ".0", ValuePos: lit.ValuePos}
			return true
		}
	}
	return false
}

// moduleWith loads a module with packages of its own, and returns it and its
// #Input.
func moduleWith(t *testing.T, files fstest.MapFS) (module, input cue.Value) {
	t.Helper()
	insts := load.Instances([]string{"."}, &load.Config{FS: files, Dir: "/", Env: []string{}})
	if err := insts[0].Err; err != nil {
		t.Fatal(err)
	}
	module = cuecontext.New().BuildInstance(insts[0])
	return module, module.LookupPath(cue.ParsePath("#Input"))
}

func splitDocs(docs []byte) [][]byte {
	var out [][]byte
	for _, doc := range bytes.Split(docs, []byte("---\n")) {
		if len(bytes.TrimSpace(doc)) > 0 {
			out = append(out, doc)
		}
	}
	return out
}

func oneLine(doc []byte) string { return strings.Join(strings.Fields(string(doc)), " ") }

// tally counts the results for the documents of one form.
type tally struct {
	good, falselyRejected, bad, letThrough, noted, changed int
}

func (t *tally) add(u tally) {
	t.good += u.good
	t.falselyRejected += u.falselyRejected
	t.bad += u.bad
	t.letThrough += u.letThrough
	t.noted += u.noted
	t.changed += u.changed
}

func (t tally) row(form string) string {
	same := fmt.Sprintf("%d of %d", t.good-t.falselyRejected-t.changed, t.good-t.falselyRejected)
	return fmt.Sprintf("%-28s %5d %9d %5d %8d %6d   %s\n", form, t.good, t.falselyRejected, t.bad, t.letThrough, t.noted, same)
}

// TestParity compares CUE with the API server's own code and the generated CRD,
// for every document of the corpus in testdata/parity. A document that CUE
// accepts must be accepted by the CRD, and must render the same after it was
// stored. A document that only CUE rejects must be explained by a note. The
// golden counts the documents by form.
//
// The generator of the operator that Pequod succeeds had, on its own corpus of 44
// forms, no CRD for 14. It rejected 63 of 100 good documents and accepted 59 of
// 118 bad ones.
func TestParity(t *testing.T) {
	files, err := filepath.Glob("testdata/parity/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/parity: %v, %d files", err, len(files))
	}
	var out, details strings.Builder
	fmt.Fprintf(&out, "%-28s %5s %9s %5s %8s %6s   %s\n", "form", "good", "rejected!", "bad", "through", "noted", "renders the same when stored")
	var sum tally
	for _, name := range files {
		form := strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(form, func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var source, docs []byte
			packages := fstest.MapFS{}
			for _, f := range archive.Files {
				switch f.Name {
				case "schema.cue":
					source = f.Data
				case "docs.yaml":
					docs = f.Data
				default:
					packages[f.Name] = &fstest.MapFile{Data: f.Data}
				}
			}
			module, input := moduleOf(source)
			if len(packages) > 0 {
				packages["schema.cue"] = &fstest.MapFile{Data: source}
				module, input = moduleWith(t, packages)
			}
			n, through := parityOf(t, module, input, docs)
			sum.add(n)
			out.WriteString(n.row(form))
			for _, line := range through {
				fmt.Fprintf(&details, "%s: %s\n", form, line)
			}
		})
	}
	out.WriteString(sum.row(fmt.Sprintf("%d forms", len(files))))
	got := out.String() + "\nlet through, and the note that admits it:\n" + details.String()
	if *table {
		fmt.Print(got)
	}
	golden := filepath.Join("testdata", "parity.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got, rewrite with -update)\n%s", diff)
	}
}

// parityOf compares the documents of one form.
func parityOf(t *testing.T, module, input cue.Value, docs []byte) (tally, []string) {
	result, err := generate(input, testNames())
	if err != nil {
		if len(docs) == 0 {
			return tally{}, []string{"no CRD: " + oneLine([]byte(errorText(err)))}
		}
		t.Fatal(err)
	}
	server := newServer(t, result.CRD)
	var n tally
	var through []string
	for _, doc := range splitDocs(docs) {
		c := compare(module, server, doc)
		if c.cue == nil {
			n.good++
		} else {
			n.bad++
		}
		switch {
		case c.falselyRejected():
			n.falselyRejected++
			t.Errorf("CUE accepts what the CRD rejects:\n%s\n%v", doc, c.crd)
		case c.changed != "":
			n.changed++
			if slices.ContainsFunc(result.Notes, func(n problem.Problem) bool { return strings.HasPrefix(n.Message, "bytes") }) {
				continue
			}
			t.Errorf("storing changes what is rendered:\n%s\n(-before +after)\n%s", doc, c.changed)
		case c.letThrough():
			n.letThrough++
			note, ok := admits(result.Notes, c.cue)
			if !ok {
				t.Errorf("the CRD accepts what CUE rejects, and no note says so:\n%s\n%v\n%v", doc, c.cue, result.Notes)
				continue
			}
			n.noted++
			through = append(through, fmt.Sprintf("%s: %s: %s", oneLine(doc), note.Path, note.Message))
		}
	}
	return n, through
}

// admits finds the note that explains why the CRD accepts a document with the
// error err: a note on the field of one of its errors, on a parent or on a child
// of it.
func admits(notes problem.List, err error) (problem.Problem, bool) {
	for _, e := range errors.Errors(err) {
		at := []string{"spec"}
		for _, p := range e.Path() {
			if !strings.HasPrefix(p, "#Input") {
				at = append(at, strings.Trim(p, `"`))
			}
		}
		for _, n := range notes {
			segments := strings.Split(strings.ReplaceAll(n.Path, "[]", ".[]"), ".")
			related := true
			for i := range min(len(segments), len(at)) {
				s := segments[i]
				related = related && (s == "*" || s == "[]" || s == at[i])
			}
			if related {
				return n, true
			}
		}
	}
	return problem.Problem{}, false
}
