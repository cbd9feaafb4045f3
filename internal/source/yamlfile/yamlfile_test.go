package yamlfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// read returns the documents of a file as JSON, or the problems of the first bad
// one.
func read(data []byte) (docs []string, ps problem.List) {
	for e, found := range objects(data) {
		if len(found) > 0 {
			return nil, found
		}
		b, err := cuecontext.New().BuildExpr(e).MarshalJSON()
		if err != nil {
			return nil, problem.List{{Message: err.Error()}}
		}
		docs = append(docs, canonical(b))
	}
	return docs, nil
}

// objects yields the documents of a file as CUE syntax. A document that is not
// an object is a problem.
func objects(data []byte) iter.Seq2[*ast.StructLit, problem.List] {
	return func(yield func(*ast.StructLit, problem.List) bool) {
		for doc, ps := range Documents("app.yaml", data) {
			if ps != nil {
				yield(nil, ps)
				return
			}
			e, ps := doc.Syntax()
			object, ok := e.(*ast.StructLit)
			if !ok && len(ps) == 0 {
				ps = problem.List{{Position: doc.Start(), Message: "not an object"}}
			}
			if !yield(object, ps) {
				return
			}
		}
	}
}

// kubectlReads returns the objects that kubectl would send for a file.
func kubectlReads(data []byte) (docs []string, err error) {
	dec := k8syaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return docs, nil
		} else if err != nil {
			return nil, err
		}
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
			continue
		}
		docs = append(docs, canonical(raw))
	}
}

// canonical returns the data as the API server would: keys sorted, numbers as int64
// or float64.
func canonical(data []byte) string {
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		return err.Error()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func differ(t *testing.T, data []byte) {
	t.Helper()
	ours, ps := read(data)
	if ps.Failed() {
		return // refused, which is always safe
	}
	theirs, err := kubectlReads(data)
	if err != nil && len(ours) > 0 {
		t.Errorf("%q: read as %s, and kubectl says %v", data, ours, err)
	}
	if err != nil {
		return
	}
	// A document without an object is no use to either.
	theirs = slices.DeleteFunc(theirs, func(s string) bool { return s == `""` || s == "\"\ufeff\"" })
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%q: differs from what kubectl reads (-kubectl +pequod):\n%s", data, diff)
	}
}

const header = "apiVersion: example.org/v1\nkind: K\nmetadata: {name: a}\n"

// scalars are spellings that YAML parsers read differently.
var scalars = strings.Split(`1|+1|-1|-0|0|1.0|1.|.5|+.5|1e3|1E3|1e+3|1e-3|1e17|1e18|1e19|1e21|1e22|9223372036854775807|9223372036854775808|-9223372036854775808|-9223372036854775809|18446744073709551615|123456789012345678901234567890|0.1|0.10|1.50|1e400|1e-400|5e-324|-0.0|00|01|1_0|0b1|-0b1|0o7|0x1F|0X1F|.|-|- |-.5|1e|e1|1.e5|12:30|1:2:3|190:20:30.15|~|null|Null|NULL|nUll|true|True|TRUE|tRue|y|Y|yes|on|ON|oN|off|n|N|no|2001-01-01|2001-12-14t21:59:43.10-05:00|.inf|-.INF|+.inf|.nan|.NaN|<<|=|!!str 5|!!str ~|!!str|!!int 5|!!int "5"|!!int x|!!int 1.5|!!float 5|!!float 1.5|!!bool true|!!bool yes|!!bool "true"|!!bool x|!!null x|!!null|! 5|! x|! true|!!binary aGk=|!!timestamp 2001-01-01|!!map {a: 1}|!!seq [1]|!!set {a, b}|!!omap [a: 1]|!x {a: 1}|!x [1]|!<tag:yaml.org,2002:str> 5|"\u00e9"|'a''b'|"a\/b"|"\ud83d\ude00"|[a, b]|{a: 1, b: 2}|{a, b}|[a: 1]|{? a : b}||@x|%x|*a|&a x|&a|{a: &a 1, b: *a}|{a: &a {x: 1}, b: {<<: *a, z: 2}}|{a: &a {x: 1}, b: {<<: [*a, {x: 2, z: 3}]}}|{"<<": {a: 1}}|{<<: {a: 1}, <<: {b: 1}}|{<<: 5}|{<<: {a: 1}, a: 2}|{a: 2, <<: {a: 1}}|{b: 2, <<: {a: 1}, a: 3}|{<<: []}|{1: a}|{+1: a}|{-0: a}|{01: a}|{1.5: a}|{true: a}|{~: a}|{2001-01-01: a}|{12:30: a}|{18446744073709551615: a}|{[a]: b}|{!!str 5: a}|{"5": a, 5: b}|{&k a: 1, b: *k}|"\x41"|"\0"|a # c|a#b|a: b|0777|0888|1__0|0.1_0|_1|1,000|0x|--1|Infinity|NaN|0x1p-2|1.2.3|é|🚀|!!js 5|9007199254740993|9007199254740993.0|100000000000000000000.0`, "|")

func TestYAMLReadsLikeKubectl(t *testing.T) {
	for _, s := range scalars {
		differ(t, []byte(header+"spec:\n  x: "+s+"\n"))
		differ(t, []byte(header+"spec: {x: ["+s+"]}\n"))
		differ(t, []byte(header+"spec: {"+s+": 1}\n"))
	}
	one, two := header+"spec: {a: 1}\n", header+"spec: {a: 2}\n"
	for name, data := range map[string]string{
		"documents":         one + "---\n" + two,
		"first separator":   "---\n" + one + "---\n" + two + "---\n",
		"comments":          "# a\n---\n# b\n" + one + "# c\n---\n# d\n",
		"separator comment": one + "--- # next\n" + two,
		"line in a comment": "# a\u2028b: 1\n---\n# c\u0085d: 1\n---\n" + one,
		"end marker":        one + "...\n",
		"two without ---":   one + "...\n" + two,
		"text after ---":    "--- {a: b}\n",
		"--- as text":       one + "---x\n",
		"directive":         "%YAML 1.2\n---\n" + one,
		"directive between": one + "...\n%YAML 1.2\n---\n" + two,
		"tag directive":     "%TAG ! tag:x,2000:\n---\n" + one,
		"CRLF":              strings.ReplaceAll(one+"---\n"+two, "\n", "\r\n"),
		"CR":                strings.ReplaceAll(one+"---\n"+two, "\n", "\r"),
		"BOM":               "\ufeff" + one,
		"BOM between":       one + "---\n\ufeff" + two,
		"tabs":              header + "spec:\n\ta: 1\n",
		"tab after colon":   header + "spec:\t{a:\t1}\t# c\n",
		"NUL":               header + "spec: {a: \"\x00\"}\n",
		"line separators":   header + "spec: {a: \"x\u2028y\", b: \"x\u0085y\", c: x}\n",
		"literal":           header + "spec:\n  a: |\n    x\n    ---\n    y\n  b: >-\n    x\n    y\n",
		"anchors":           header + "spec: {a: &x [1], b: *x}\n---\n" + header + "spec: {a: *x}\n",
		"JSON":              `{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"},"spec":{"a":1.0,"b":"\ud83d\ude00\/","c":[null,true,1e3]}}`,
		"JSON stream":       `{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"}} {"apiVersion":"a/v1","kind":"K","metadata":{"name":"b"}}`,
		"JSON and YAML":     `{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"}}` + "\n---\n" + one,
		"JSON separator":    "{\"apiVersion\":\"a/v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"a\u2028b\u0085c\"}}}",
		"JSON long key":     `{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"},"spec":{"` + strings.Repeat("k", 2000) + `":1}}`,
		"JSON tabs":         "{\n\t\"apiVersion\": \"a/v1\",\n\t\"kind\"\n:\t\"K\",\n\t\"metadata\": {\"name\": \"a\"}\n}",
		"flow":              "{apiVersion: a/v1, kind: K, metadata: {name: a}, }",
		"JSON broken":       `{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"}`,
		"List":              "apiVersion: v1\nkind: L\nmetadata: {name: a}\nitems: []\n",
	} {
		t.Run(name, func(t *testing.T) { differ(t, []byte(data)) })
	}
}

func FuzzYAML(f *testing.F) {
	for _, s := range scalars {
		f.Add(header + "spec:\n  x: " + s + "\n---\n" + header + "spec: {x: [" + s + "]}\n")
	}
	f.Add(`{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"},"spec":{"a":1.0,"b":"\ud83d\ude00\/"}}`)
	f.Fuzz(func(t *testing.T, data string) { differ(t, []byte(data)) })
}

// TestYAMLRefused checks the problems of files that can't be read.
func TestYAMLRefused(t *testing.T) {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	for name, c := range map[string]struct{ data, want string }{
		"Windows-1252":    {header + "spec: {a: caf\xe9}\n", `app.yaml:4:14: not UTF-8; save the file as UTF-8`},
		"UTF-16 LE":       {"\xff\xfea\x00:\x00", `app.yaml:1:1: UTF-16, not UTF-8; save the file as UTF-8`},
		"UTF-16 BE":       {"\xfe\xff\x00a\x00:", `app.yaml:1:1: UTF-16, not UTF-8; save the file as UTF-8`},
		"NUL":             {header + "spec: {日本: \"\x00\"}\n", `app.yaml:4:13: character U+0000 is not allowed`},
		"control":         {header + "spec: \x1b[1m\n", `app.yaml:4:7: character U+001B is not allowed`},
		"directive":       {"%YAML 1.2\n---\n" + header, `app.yaml:1:1: YAML directives are not supported; leave it out`},
		"second":          {header + "...\n" + header, `app.yaml:5:1: not YAML: did not find expected <document start>`},
		"text after ---":  {header + "---\n" + header + "--- x\n", `app.yaml:8:1: text after ---; begin the document on the next line`},
		"billion laughs":  {laughs, `app.yaml:1:28: more than 200000 values in one document`},
		"own anchor":      {"a: &a [*a]\n", `app.yaml:1:8: anchor a contains itself`},
		"deep":            {header + "spec: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n", `app.yaml:4:207: more than 200 levels deep`},
		"very deep":       {header + "spec: " + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "\n", `app.yaml:4:1: not YAML: exceeded max depth of 10000`},
		"duplicate":       {header + "spec:\n  a: 1\n  b: {a: 1}\n  a: 2\n", `app.yaml:7:3: spec.a: key given twice, first at line 5`},
		"duplicate later": {header + "---\n" + header + "kind: L\n", `app.yaml:8:1: kind: key given twice, first at line 6`},
		"duplicate JSON":  {`{"kind": "K", "kind": "L"}`, `app.yaml:1:15: kind: key given twice, first at line 1`},
		"lone CR":         {header + "# 日本\rspec: 1\r\n", `app.yaml:4:5: carriage return without a line feed; end lines with a line feed`},
		"two BOMs":        {"\ufeff\ufeffa: 1\n", `app.yaml:1:1: two byte order marks`},
		"merge":           {header + "spec: {a: 1, <<: {a: 2}}\n", `app.yaml:4:18: spec: << brings key a, which stands before it; put << before the other keys`},
		"two merges":      {header + "spec: {<<: {a: 2}, <<: {b: 2}}\n", `app.yaml:4:20: spec: key << given twice`},
		"bare tag":        {header + "spec: {a: &a ! 5}\n", `app.yaml:4:11: spec.a: tag ! is not supported; leave it out`},
		"tab":             {header + "spec:\n\ta: 1\n", `app.yaml:5:1: not YAML: found character that cannot start any token`},
		"second broken":   {header + "---\n" + header + " x: 1\n", `app.yaml:8:2: not YAML: did not find expected key`},
		"far from it":     {header + "spec:\n  a:\n" + strings.Repeat("  - x\n", 50) + "  b\n  c: x\n", `app.yaml:56:3: not YAML: could not find expected ':'`},
		"unclosed":        {header + "spec:\n  a: [x,\n  b: y\n", `app.yaml:6:3: not YAML: did not find expected ',' or ']'`},
		"unclosed quote":  {header + "spec:\n  a: \"x\n  b: y\n", `app.yaml:5:3: not YAML: found unexpected end of stream`},
		"alias":           {header + "spec: *x\n", `app.yaml:4:1: not YAML: unknown anchor 'x' referenced`},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			docs, ps := read([]byte(c.data))
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if docs != nil || len(ps) != 1 {
				t.Fatalf("%d documents, %d problems, want one problem: %v", len(docs), len(ps), ps)
			}
			if got := ps.Error(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestYAMLPositions checks the positions of values. Columns count characters.
func TestYAMLPositions(t *testing.T) {
	for name, c := range map[string]struct{ data, path, want string }{
		"plain":        {header + "spec:\n  a: x\n", "spec.a", "5:6"},
		"CRLF":         {strings.ReplaceAll(header+"spec:\n  a: x\n", "\n", "\r\n"), "spec.a", "5:6"},
		"BOM":          {"\ufeff{apiVersion: a/v1, kind: K, metadata: {name: a}}", "kind", "1:26"},
		"tab":          {header + "spec: {a:\t\tx}\n", "spec.a", "4:12"},
		"wide":         {header + "spec: {\"日本語\": 1, \"🚀\": 2, a: x}\n", "spec.a", "4:29"},
		"separator":    {header + "spec: {b: \"x\u2028y\", a: x}\n", "spec.a", "5:8"},
		"alias":        {header + "spec:\n  b: &b {a: x}\n  c: *b\n", "spec.c.a", "5:13"},
		"merge":        {header + "spec:\n  b: &b {a: x}\n  c: {<<: *b}\n", "spec.c.a", "5:13"},
		"document":     {"a: 1\n---\n", "", "1:1"},
		"second":       {"# c\n---\n---\n# d\n" + header + "spec:\n  a: x\n", "spec.a", "9:6"},
		"list":         {header + "spec:\n  a:\n  - x\n  - b: z\n", "spec.a[1].b", "7:8"},
		"block":        {header + "spec:\n  a: |\n    x\n", "spec.a", "5:6"},
		"JSON":         {"{\"apiVersion\": \"a/v1\",\n \"kind\": \"K\", \"metadata\": {\"name\": \"a\"},\r\n \"spec\": {\"é\": 1, \"a\" :\t[1, \"x\"]}}", "spec.a[1]", "3:29"},
		"quoted":       {header + "spec:\n  a: \"x\n    y\"\n  b: z\n", "spec.b", "7:6"},
		"missing":      {header + "spec:\n  a: x\n", "spec.b", "4:1"},
		"empty":        {header + "spec:\n  a:\n  b: x\n", "spec.a", "5:5"},
		"quoted label": {header + "spec:\n  \"a.b\": {c: x}\n", `spec["a.b"].c`, "5:14"},
	} {
		t.Run(name, func(t *testing.T) {
			for object, ps := range objects([]byte(c.data)) {
				if ps.Failed() {
					if c.want != "" {
						t.Fatal(ps)
					}
					return
				}
				if got := strings.TrimPrefix(cuesyntax.PositionAt(object, fieldpath.Split(c.path)).String(), "app.yaml:"); got != c.want {
					t.Errorf("%s is at %s, want %s", c.path, got, c.want)
				}
			}
		})
	}
}

// TestYAMLIsFast checks that reading takes time in proportion to the file.
func TestYAMLIsFast(t *testing.T) {
	one := `{"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "a"}, "spec": {"a": [`
	for name, data := range map[string]string{
		"long line of YAML": strings.ReplaceAll(one, `"`, "") + strings.Repeat("é, ", 150_000) + "]}}",
		"long line of JSON": one + strings.Repeat(`"é",`, 150_000) + `"x"]}}`,
		"many documents":    strings.Repeat(header+"---\n", 20_000),
		"many separators":   strings.Repeat("---\n", 1<<20),
		"many lines":        header + "spec:\n" + strings.Repeat("# comment\n", 1_000_000),
		"a long string":     header + "spec: \"" + strings.Repeat("x", 10<<20) + "\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			for _, ps := range objects([]byte(data)) {
				if ps.Failed() {
					t.Fatal(ps)
				}
			}
			took := time.Since(start)
			t.Logf("%d KiB in %v", len(data)>>10, took)
			if took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
