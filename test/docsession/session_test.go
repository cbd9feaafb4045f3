package docsession

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConvention(t *testing.T) {
	for _, test := range []struct {
		want, got string
		match     bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"a", "a", true},
		{"a.c", "abc", false},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…\nd", "a\nd", false},
		{"a\n…", "a\nb\nc", true},
		{"…\nb", "a\nb\nc", false},
		{"sha256:…", "sha256:12ab", true},
		{"sha256:…", "sha256:12ab\nmore", false},
		{"a\n\nb", "a\nb", false},
	} {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, "\n")
		}
		if got := Matches(split(test.want), split(test.got)); got != test.match {
			t.Errorf("Matches(%q, %q) = %t", test.want, test.got, got)
		}
	}
	blocks, err := Parse("Text, `x`, and `dir/a.yaml`:\n\n```yaml\na: 1\n\nb: 2\n```\n\n```sh\nscp a b:\n```\n\nThe script, `b.sh`:\n\n```sh\ntrue\n```\n\n```console\n$ cat a\nout\n\n$ true\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{File: "dir/a.yaml", Lines: []string{"a: 1", "", "b: 2"}},
		{File: "b.sh", Lines: []string{"true"}},
		{Commands: []Command{{Line: 20, Text: "cat a", Output: []string{"out", ""}}, {Line: 23, Text: "true"}}},
	}
	if diff := cmp.Diff(want, blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"```yaml\na: 1\n```\n", "```console\nout\n```\n", "```console\n$ true\n"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
