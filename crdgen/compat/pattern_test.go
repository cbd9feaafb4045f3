package compat

import (
	"regexp"
	"testing"
)

func TestExcluded(t *testing.T) {
	const label = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	for _, test := range []struct {
		old, new string
		// want is the example, or - if there is none.
		want string
	}{
		{"^(a|b)$", "^(a|b|c)$", "-"},
		{"^(a|b|c)$", "^(a|b)$", "c"},
		{"^[a-z]+$", "^[a-z0-9]+$", "-"},
		{"^[a-z0-9]+$", "^[a-z]+$", "0"},
		{"^[a-z]{1,63}$", "^[a-z]{1,253}$", "-"},
		{"^[a-z]{1,3}$", "^[a-z]{1,2}$", "aaa"},
		{label, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, "-"},
		{label, `^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`, "0"},
		{`^\d+$`, "^[0-9]*$", "-"},
		{"^a$", "a", "-"},
		{"a", "^a", "0a"},
		{"", "^.*$", "\n"},
		{"", "(?s)^.*$", "-"},
		{"", "x*", "-"},
		{`^a$`, `(?m)^a$`, "-"},
		{`(?m)^a$`, `^a$`, "a\n"},
		{`(?i)^ok$`, `^[oO][kK]$`, "O\u212a"},
		{`^[oO][kK]$`, `(?i)^ok$`, "-"},
		{`^\bfoo\b$`, "foo", "-"},
		{`foo`, `\bfoo\b`, "0foo"},
		{`foo\b`, `foo(\W|$)`, "-"},
		{`^\p{Lu}`, `^\p{L}`, "-"},
		{`^\p{L}$`, `^\p{Lu}$`, "a"},
		{`^[^/]+$`, `^.+$`, "\n"},
		{`$^`, `^x$`, ""},
		{`^[^\x00-\x{10FFFF}]$`, `^x$`, "-"},
	} {
		got, some, decided := excluded(test.old, test.new)
		if !some {
			got = "-"
		}
		if !decided || got != test.want {
			t.Errorf("excluded(%s, %s) = %q, decided %v; want %q", test.old, test.new, got, decided, test.want)
		}
		if some && (!regexp.MustCompile(test.old).MatchString(got) || regexp.MustCompile(test.new).MatchString(got)) {
			t.Errorf("excluded(%s, %s) = %q is no example", test.old, test.new, got)
		}
	}
	for _, test := range [][2]string{{`^[ab]*a[ab]{20}$`, `^[ab]*a[ab]{20}c?$`}, {`(?=a)`, "a"}, {"a", "("}} {
		if _, _, decided := excluded(test[0], test[1]); decided {
			t.Errorf("%s → %s is decided", test[0], test[1])
		}
	}
}

// TestExcludedAgrees compares excluded with the verdicts of package regexp on all
// short strings, for each pair of some patterns.
func TestExcludedAgrees(t *testing.T) {
	texts := []string{""}
	for i := 0; i < len(texts) && len(texts[i]) < 4; i++ {
		for _, c := range "aK0-\n" {
			texts = append(texts, texts[i]+string(c))
		}
	}
	var all []*regexp.Regexp
	for _, p := range []string{
		"", "a", "^a", "a$", "^a*$", "(?m)^a$", `\ba\b`, `\Ba`, `^[^a]+$`, "(?i)^k+$", "^(a|K0?)+$", "^.{2,3}$", "(?s)^.{2,3}$", "^a?-?0{0,2}$",
		`^\w+$`, `^\W*$`, `(-|^)a`, `a\b.`, "^(a0|0a)*$", "^[a-k]", `\A0\z`, "x|^$", `^\b`, "a*?0", "^(?:a|)(?:K|)$",
	} {
		all = append(all, regexp.MustCompile(p))
	}
	for _, old := range all {
		for _, new := range all {
			example, some, decided := excluded(old.String(), new.String())
			if !decided || some && (!old.MatchString(example) || new.MatchString(example)) {
				t.Errorf("%s → %s: %q, %v, %v", old, new, example, some, decided)
			}
			for _, text := range texts {
				if !some && old.MatchString(text) && !new.MatchString(text) {
					t.Errorf("%s → %s: %q is excluded", old, new, text)
				}
			}
		}
	}
}
