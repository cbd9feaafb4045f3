package style

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaint(t *testing.T) {
	for _, test := range []struct {
		color bool
		style Style
		text  string
		want  string
	}{
		{true, Red, "no", "\x1b[31mno\x1b[m"},
		{true, Bold.Inherit(Green), "yes\t!", "\x1b[1;32myes\t!\x1b[m"},
		{true, Plain, "a\ttext", "a\ttext"},
		{true, Red, "", ""},
		{false, Red, "no", "no"},
	} {
		if got := (Painter{test.color}).Paint(test.style, test.text); got != test.want {
			t.Errorf("Paint(%q) with color %t = %q, want %q", test.text, test.color, got, test.want)
		}
	}
}

// TestColored checks the variables of https://no-color.org and
// https://bixense.com/clicolors.
func TestColored(t *testing.T) {
	for _, test := range []struct {
		env            string
		terminal, file bool
	}{
		{"", true, false},
		{"TERM=dumb", false, false},
		{"NO_COLOR=", true, false},
		{"NO_COLOR=yes", false, false},
		{"NO_COLOR=0", false, false},
		{"CLICOLOR=1", true, false},
		{"CLICOLOR=0", false, false},
		{"CLICOLOR_FORCE=1", true, true},
		{"CLICOLOR_FORCE=1 TERM=dumb", true, true},
		{"CLICOLOR_FORCE=1 CLICOLOR=0", true, true},
		{"CLICOLOR_FORCE=0", true, false},
		{"CLICOLOR_FORCE=1 NO_COLOR=1", false, false},
	} {
		env := map[string]string{}
		for _, v := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		getenv := func(name string) string { return env[name] }
		if terminal, file := colored(true, getenv), colored(false, getenv); terminal != test.terminal || file != test.file {
			t.Errorf("%s: a terminal %t, a file %t; want %t, %t", test.env, terminal, file, test.terminal, test.file)
		}
	}
}

// TestWidth checks characters that take no column or two: East Asian ones, and
// emoji that consist of several code points.
func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "web": 3, "図": 2, "e\u0301": 1, "🚀": 2, "👩\u200d💻": 2, "🇩🇪": 2, "❤\ufe0f": 2, "│": 1, "…": 1} {
		if got := Width(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
		if got := Width(Pad(text, 4)); got != 4 {
			t.Errorf("%q, padded: %d columns", text, got)
		}
	}
	if got := Pad("long", 2); got != "long" {
		t.Errorf("got %q", got)
	}
}

func TestCut(t *testing.T) {
	line := Line{{Plain, "図 is "}, {Red, "wide  text"}, {Plain, " end "}}
	for limit, want := range map[int]string{0: "図 is wide  text end", 1: "…", 2: "…", 3: "図…", 8: "図 is w…", 11: "図 is wide…", 20: "図 is wide  text end"} {
		got := line.Render(Painter{}, limit)
		if got != want || limit > 0 && Width(got) > limit {
			t.Errorf("Render(%d) = %q with %d columns, want %q", limit, got, Width(got), want)
		}
	}
	if got := (Line{{Red, "👩\u200d💻👩\u200d💻 work"}}).Render(Painter{Color: true}, 4); got != "\x1b[31m👩\u200d💻…\x1b[m" {
		t.Errorf("cut to %q", got)
	}
}

func TestWriteBranches(t *testing.T) {
	var b strings.Builder
	WriteBranches(&b, "one", []string{"a", "b"}, 0)
	WriteBranches(&b, "two", nil, 0)
	WriteBranches(&b, "three", []string{"図 🚀 a long row", "b c"}, 12)
	want := "one\n├── a\n└── b\ntwo\nthree\n├── 図 🚀 a\n│   long row\n└── b c\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestColumns(t *testing.T) {
	rows := [][]Span{
		{{Plain, "web"}, {Plain, ""}, {Green, "ready"}, {Plain, ""}},
		{{Plain, "図🚀"}, {Plain, ""}, {Red, "failed"}, {Plain, "the image nginx:missing can't be pulled"}},
	}
	for _, test := range []struct {
		width int
		want  []string
	}{
		{0, []string{"web   ready", "図🚀  failed  the image nginx:missing can't be pulled"}},
		{60, []string{"web   ready", "図🚀  failed  the image nginx:missing can't be pulled"}},
		{40, []string{"web   ready", "図🚀  failed  the image nginx:missing\n              can't be pulled"}},
		{30, []string{"web   ready", "図🚀  failed  the image\nnginx:missing can't be pulled"}},
	} {
		got := Columns(Painter{}, rows, test.width)
		for i, text := range got {
			var b strings.Builder
			writeTrimmed(&b, text)
			got[i] = strings.TrimSuffix(b.String(), "\n")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", test.width, diff)
		}
	}
}

func TestTable(t *testing.T) {
	header := []string{"NAME", "WHY", "NOTE"}
	rows := [][]string{{"図🚀", "because", ""}, {"web", "", "two words and more"}}
	want := "NAME   WHY       NOTE\n図🚀   because\nweb              two words and more\n"
	if diff := cmp.Diff(want, Table(header, rows, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for width := 22; width < 40; width++ {
		narrow := Table(header, rows, width)
		for line := range strings.Lines(narrow) {
			if Width(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("wider than %d: %q", width, line)
			}
		}
		for _, r := range "図🚀" {
			if !strings.ContainsRune(narrow, r) {
				t.Errorf("%d columns: %q isn't in:\n%s", width, r, narrow)
			}
		}
		if letters := func(text string) string { return strings.Join(strings.Fields(text), "") }; len(letters(narrow)) != len(letters(want)) {
			t.Errorf("%d columns: text is missing:\n%s", width, narrow)
		}
	}
	if got := Table(header, nil, 0); got != "NAME   WHY   NOTE\n" {
		t.Errorf("an empty table: %q", got)
	}
}
