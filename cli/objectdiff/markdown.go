package objectdiff

import (
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pequod-io/pequod/internal/source"
)

// WriteMarkdown prints a diff as a comment of a pull request shows it: the plan,
// the warnings, and an object that opens at a click for each that differs, by
// namespace. Of what is longer than size characters as much is cut as must be,
// the longest objects first, and the end says how much it was; 0 means that
// nothing is cut.
func WriteMarkdown(w io.Writer, d Diff, size int) error {
	_, err := io.WriteString(w, Fit(size, func(cut Cut) string { return d.markdown(cut) }))
	return err
}

// Cut bounds what a report shows; none of its fields is negative.
type Cut struct {
	Lines   int // of one object
	Objects int
}

// all is a bound that bounds nothing.
const all = 1 << 30

// Cuts says whether anything is cut.
func (c Cut) Cuts() bool { return c.Lines < all || c.Objects < all }

// Fit finds the largest bounds under which a text is no longer than size
// characters: first objects get fewer lines, then there are fewer objects. If
// even nothing is too long, the text is cut where it must be.
func Fit(size int, write func(Cut) string) string {
	text := write(Cut{all, all})
	fits := func(s string) bool { return size <= 0 || utf8.RuneCountInString(s) <= size }
	if fits(text) {
		return text
	}
	largest := func(at func(n int) Cut) (string, bool) {
		best, found := "", false
		for low, high := 0, 1<<16; low <= high; {
			n := (low + high) / 2
			if s := write(at(n)); fits(s) {
				best, found, low = s, true, n+1
			} else {
				high = n - 1
			}
		}
		return best, found
	}
	// Objects of fewer lines than this say too little to be worth a place.
	const enough = 5
	if fits(write(Cut{enough, all})) {
		best, _ := largest(func(n int) Cut { return Cut{max(n, enough), all} })
		return best
	}
	if best, ok := largest(func(n int) Cut { return Cut{enough, n} }); ok {
		return best
	}
	return string([]rune(write(Cut{}))[:size])
}

func (d Diff) markdown(cut Cut) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", d.Plan())
	left := d.MarkdownObjects(&b, cut, "###")
	if left != "" {
		fmt.Fprintf(&b, "%s\n", left)
	}
	return b.String()
}

// maxWarnings is how many warnings a comment lists where it has to be cut.
const maxWarnings = 20

// MarkdownObjects writes warnings and objects without the plan, below headings
// that begin as given, and tells in a sentence what was cut.
func (d Diff) MarkdownObjects(b *strings.Builder, cut Cut, heading string) string {
	d.markdownWarnings(b, cut)
	namespace, lines, objects := "", 0, 0
	for i := range d.Objects {
		o := &d.Objects[i]
		if i >= cut.Objects {
			objects++
			continue
		}
		if i == 0 || o.Namespace != namespace {
			namespace = o.Namespace
			title := "Cluster"
			if namespace != "" {
				title = "Namespace " + code(namespace)
			}
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(b, "%s %s\n\n", heading, title)
		}
		lines += o.markdown(b, cut.Lines)
	}
	var left []string
	if lines > 0 {
		left = append(left, source.Count(lines, "line"))
	}
	if objects > 0 {
		left = append(left, source.Count(objects, "object"))
	}
	if left == nil {
		return ""
	}
	return "_Too long for a comment: " + strings.Join(left, " and ") + " left out._"
}

func (d Diff) markdownWarnings(b *strings.Builder, cut Cut) {
	n := 0
	for i := range d.Objects {
		for _, w := range d.Objects[i].Warnings {
			if n++; n > min(maxWarnings, cut.Objects) && cut.Cuts() {
				continue
			}
			if n == 1 {
				b.WriteString("\n> [!WARNING]\n")
			}
			text := escape(w.Message)
			if w.Path != "" {
				text = code(w.Path) + ": " + text
			}
			fmt.Fprintf(b, "> - %s: %s\n", code(d.Objects[i].Key.String()), text)
		}
	}
	if limit := min(maxWarnings, cut.Objects); n > limit && cut.Cuts() {
		fmt.Fprintf(b, "> - … %s\n", source.Count(n-limit, "more warning"))
	}
}

// markdown writes one object and tells how many lines it left out.
func (o *ObjectDiff) markdown(b *strings.Builder, most int) int {
	summary := fmt.Sprintf("%c <b>%s</b> <code>%s</code>", signOf(o.Action), html.EscapeString(source.Escape(o.kind(), "\t")), html.EscapeString(source.Escape(o.Name, "\t")))
	if o.Replaced {
		summary += ", deleted and made anew"
	}
	if n := len(o.Changes); n > 0 {
		summary += ", " + source.Count(n, "field")
	}
	if n := len(o.Warnings); n > 0 {
		summary += ", " + source.Count(n, "warning")
	}
	lines := o.lines()
	if len(lines) == 0 {
		fmt.Fprintf(b, "<p>%s</p>\n\n", summary)
		return 0
	}
	var body []string
	for i, l := range lines {
		if i == most {
			body = append(body, "  … "+source.Count(len(lines)-i, "more line"))
			break
		}
		if l.sign == '~' {
			l.sign = '!' // what highlighting of diffs knows
		}
		body = append(body, l.paint(false, ""))
	}
	text := strings.Join(body, "\n")
	fence := fenceFor(text)
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n%sdiff\n%s\n%s\n\n</details>\n\n", summary, fence, text, fence)
	return max(len(lines)-most, 0)
}

// Fence writes lines as a block of code.
func Fence(lines []string) string {
	text := strings.Join(lines, "\n")
	fence := fenceFor(text)
	return fence + "\n" + text + "\n" + fence + "\n"
}

// fenceFor gives a fence that doesn't occur in a text.
func fenceFor(text string) string { return strings.Repeat("`", max(3, longestRun(text)+1)) }

func longestRun(text string) int {
	most, run := 0, 0
	for _, r := range text {
		if r == '`' {
			run++
			most = max(most, run)
		} else {
			run = 0
		}
	}
	return most
}

// code writes a text as a code span.
func code(s string) string {
	s = source.Escape(s, "\t")
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// escape writes a text that Markdown, HTML and mentions leave as it is.
func escape(s string) string {
	var b strings.Builder
	for _, r := range source.Escape(s, "\t") {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '@':
			b.WriteString("&#64;")
		case '\\', '`', '*', '_', '[', ']', '#', '|', '~':
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
