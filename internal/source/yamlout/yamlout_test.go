package yamlout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/internal/source/yamlout"
)

// ambiguous are strings that some reader takes for another value: PyYAML and Ruby (YAML 1.1),
// js-yaml and yaml of npm (YAML 1.2), yaml.v2 and yaml.v3.
var ambiguous = []string{
	"=", "<<", "~", "null", "Null", "NULL", "", "true", "True", "TRUE", "false", "False", "FALSE",
	"y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
	"0", "-0", "+1", "007", "08", "0755", "0o17", "0O17", "0x1F", "0x_1F", "-0x1F", "0xFFFFFFFFFFFFFFFFFFFF", "0b11", "0b1_0",
	"1_000", "1_000_", "1_000.5", "1,000", "1,000.5", "123456789012345678901234567890",
	"1.0", "1.", ".5", "._5", "-.5", "1e3", "1E3", "12e03", "1e+3", "1.5e-3", "123e456", "1.5e999", "1_0e5",
	"1:20", "190:20:30", "-1:20", "1:20.5", "1_0:20",
	".inf", ".Inf", ".INF", "-.inf", "+.inf", ".nan", ".NaN", ".NAN",
	"2001-01-01", "2001-1-1", "2001-13-45", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "2001-12-14T25:00:00Z",
	"-", "?", ":", "---", "...", "--- ", "!a", "&a", "*a", "|", ">", "%a", "@a", "`a", "a: b", "a #b", "#a", " a", "a ", "{a}", "[a]",
}

// plain are strings that need no quotes, and must keep the look that they have.
var plain = []string{
	"a", "nginx:1.27", "1.2.3", "v1.0", "10Gi", "500m", "80%", "10.0.0.1", "10.0.0.0/8", "1h30m", "5s", "a=b", "==", "=~", "<", ">=1",
	"12ab", "0xyz", "-a", "--flag", ".a", "e3", "1e", "2001-01", "2001-01-01a", "1:99", "yes!", "Null!", "日本語",
}

func TestQuotes(t *testing.T) {
	for name, write := range map[string]func(any) ([]byte, error){"Marshal": yamlout.Marshal, "Encode": yamlout.Encode} {
		for _, s := range ambiguous {
			for _, v := range []any{map[string]any{"k": s}, map[string]any{s: "v"}, []any{s, []any{s}}} {
				out, err := write(v)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.ContainsAny(string(out), `"'|`) {
					t.Errorf("%s: %q is without quotes: %s", name, s, out)
				}
				sameToAll(t, out, v)
			}
		}
		for _, s := range plain {
			out, err := write(map[string]any{"k": s})
			if want := "k: " + s + "\n"; err != nil || string(out) != want && string(out) != "k: '"+s+"'\n" {
				t.Errorf("%s: %q, %v; want %q", name, out, err, want)
			}
			sameToAll(t, out, map[string]any{"k": s})
		}
	}
}

// sameToAll checks that the libraries of Go read what was written.
func sameToAll(t *testing.T, out []byte, want any) {
	t.Helper()
	var v3, v2 any
	if err := yaml.Unmarshal(out, &v3); err != nil {
		t.Errorf("%s: %v", out, err)
	}
	if err := sigsyaml.Unmarshal(out, &v2); err != nil {
		t.Errorf("%s: %v", out, err)
	}
	for _, got := range []any{v3, v2} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", out, diff)
		}
	}
}

// A string may have the characters of the marks itself, and a number an exponent, which is a
// string to PyYAML without a point.
func TestOddValues(t *testing.T) {
	for name, write := range map[string]func(any) ([]byte, error){"Marshal": yamlout.Marshal, "Encode": yamlout.Encode} {
		odd := map[string]any{"a": "\uE0000\uE001", "b": "=", "c": "x\uE000\ny", "d": "\uE0017\uE001"}
		out, err := write(odd)
		if err != nil {
			t.Fatal(err)
		}
		sameToAll(t, out, odd)
		out, err = write(map[string]any{"a": 1e21, "b": 1.5e21, "c": 3, "d": 0.5})
		if want := "a: 1.0e+21\nb: 1.5e+21\nc: 3\nd: 0.5\n"; err != nil || string(out) != want {
			t.Errorf("%s: %q, %v; want %q", name, out, err, want)
		}
	}
	out, err := yamlout.Marshal(map[string]any{"m": uint64(1<<63 + 1), "s": fmt.Sprint(1 << 40)})
	if want := "m: 9223372036854775809\ns: \"1099511627776\"\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}
