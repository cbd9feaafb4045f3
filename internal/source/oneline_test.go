package source

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOneLine(t *testing.T) {
	for _, test := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 10, ""},
		{"plain", 5, "plain"},
		{"  two\r\n\tlines  \n", 20, "two lines"},
		{"red \x1b[31malert\x07", 40, "red ?[31malert?"},
		{"bad \xff utf-8", 40, "bad ? utf-8"},
		{"hidden \u202eorder", 40, "hidden ?order"},
		{"0123456789", 9, "012345…"},
		{"0123 56789", 8, "0123…"},
		{"äöüäöü", 8, "äö…"},
	} {
		if got := OneLine(test.s, test.limit); got != test.want {
			t.Errorf("OneLine(%q, %d) = %q, want %q", test.s, test.limit, got, test.want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a\nb", 3)
	f.Add(strings.Repeat("é", 20), 7)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 3 + int(uint(limit)%100)
		got := OneLine(s, limit)
		if len(got) > limit || strings.ContainsAny(got, "\n\r\x1b") || !utf8.ValidString(got) {
			t.Errorf("OneLine(%q, %d) = %q", s, limit, got)
		}
	})
}
