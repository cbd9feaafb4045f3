package style

import (
	"strings"
	"testing"
)

func TestPaint(t *testing.T) {
	for _, test := range []struct {
		color bool
		style Style
		text  string
		want  string
	}{
		{true, Red, "no", "\x1b[31mno\x1b[0m"},
		{true, Bold + Green, "yes", "\x1b[1m\x1b[32myes\x1b[0m"},
		{true, Plain, "text", "text"},
		{true, Red, "", ""},
		{false, Red, "no", "no"},
	} {
		if got := (Painter{test.color}).Paint(test.style, test.text); got != test.want {
			t.Errorf("Paint(%q, %q) with color %t = %q, want %q", test.style, test.text, test.color, got, test.want)
		}
	}
}

func TestCut(t *testing.T) {
	line := Line{{Plain, "図 is "}, {Red, "wide  text"}, {Plain, " end"}}
	for limit, want := range map[int]string{1: "…", 2: "…", 3: "図…", 8: "図 is w…", 11: "図 is wide…", 20: "図 is wide  text end"} {
		got := line.Cut(limit)
		if text := got.Render(Painter{}); text != want || got.Width() > limit {
			t.Errorf("Cut(%d) = %q with %d columns, want %q", limit, text, got.Width(), want)
		}
	}
}

func TestPad(t *testing.T) {
	if got := Pad("図e\u0301", 5) + "|"; got != "図e\u0301  |" {
		t.Errorf("got %q", got)
	}
	if got := Pad("long", 2); got != "long" {
		t.Errorf("got %q", got)
	}
}

func TestWriteBranches(t *testing.T) {
	var b strings.Builder
	WriteBranches(&b, "one", []string{"a", "b"})
	WriteBranches(&b, "two", nil)
	if got, want := b.String(), "one\n├── a\n└── b\ntwo\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
