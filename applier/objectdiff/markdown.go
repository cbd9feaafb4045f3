package objectdiff

import (
	"fmt"
	"html"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pequod-io/pequod/internal/source"
)

// WriteMarkdown prints a diff for a comment on a pull request: the plan, the warnings,
// and a collapsed section for each object, by namespace. A comment longer than size
// characters is shortened, the longest objects first, and ends with a sentence about
// the parts that were left out. A size of 0 means no limit.
func WriteMarkdown(w io.Writer, d Diff, size int) error {
	_, err := io.WriteString(w, Fit(size, func(cut Cut) string { return d.markdown(cut) }))
	return err
}

// Cut limits the length of a report. Its fields are not negative.
type Cut struct {
	Lines   int // per object
	Objects int
}

// unlimited is a limit that no report reaches.
const unlimited = 1 << 30

// Cuts reports whether there is a limit.
func (c Cut) Cuts() bool { return c.Lines < unlimited || c.Objects < unlimited }

// Fit returns the text that write returns with the largest limits under which it
// has at most size characters. It reduces the lines of each object first, and
// then the number of objects. If the text is too long even without objects, Fit
// truncates it. A size of 0 or less means no limit.
//
// The length must not shrink as the limits grow, because the limits are found by
// binary search. write is called up to 17 times for each limit, and must have no
// side effects.
func Fit(size int, write func(Cut) string) string {
	text := write(Cut{unlimited, unlimited})
	fits := func(s string) bool { return size <= 0 || utf8.RuneCountInString(s) <= size }
	if fits(text) {
		return text
	}
	// largest returns the text with the largest limit that fits, or "" if even that of
	// limit 0 is too long.
	largest := func(at func(n int) Cut) string {
		n := sort.Search(1<<16, func(n int) bool { return !fits(write(at(n))) })
		if n == 0 {
			return ""
		}
		return write(at(n - 1))
	}
	// Fewer lines than this do not help the reader: leaving out whole objects is better.
	const enough = 5
	if fits(write(Cut{enough, unlimited})) {
		return largest(func(n int) Cut { return Cut{max(n, enough), unlimited} })
	}
	if best := largest(func(n int) Cut { return Cut{enough, n} }); best != "" {
		return best
	}
	return string([]rune(write(Cut{}))[:size])
}

// markdown returns the whole comment.
func (d Diff) markdown(cut Cut) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", d.Plan())
	if left := d.MarkdownObjects(&b, cut, "###"); left != "" {
		fmt.Fprintf(&b, "%s\n", left)
	}
	return b.String()
}

// maxWarnings is the largest number of warnings in a comment that must be
// shortened. A comment that fits has all warnings.
const maxWarnings = 20

// MarkdownObjects writes the warnings and objects without the plan. heading is the
// Markdown prefix of the headings, such as ###. It returns a sentence about the parts
// that were left out, or "".
func (d Diff) MarkdownObjects(b *strings.Builder, cut Cut, heading string) string {
	d.markdownWarnings(b, cut)
	namespace, lines, objects := "", 0, 0 // the current namespace; lines and objects left out
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

// markdownWarnings writes the warnings as an alert.
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

// markdown writes one object with at most limit lines. It returns how many lines
// it left out. The object is a collapsed section whose summary names it and
// counts its changes, with the lines of WriteText in a code block of the language
// diff.
func (o *ObjectDiff) markdown(b *strings.Builder, limit int) int {
	summary := fmt.Sprintf("%c <b>%s</b> <code>%s</code>", signOf(o.Action), html.EscapeString(source.Escape(o.kind(), "\t")), html.EscapeString(source.Escape(o.Name, "\t")))
	if o.Recreated {
		summary += ", deleted and recreated"
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
		if i == limit {
			body = append(body, "  … "+source.Count(len(lines)-i, "more line"))
			break
		}
		if l.sign == '~' {
			l.sign = '!' // GitHub's highlighting of diffs does not know ~
		}
		body = append(body, l.paint(nil, false))
	}
	text := strings.Join(body, "\n")
	fence := ticks(3, text)
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n%sdiff\n%s\n%s\n\n</details>\n\n", summary, fence, text, fence)
	return max(len(lines)-limit, 0)
}

// Fence returns lines as a fenced code block.
func Fence(lines []string) string {
	text := strings.Join(lines, "\n")
	fence := ticks(3, text)
	return fence + "\n" + text + "\n" + fence + "\n"
}

// ticks returns at least n backticks that do not occur in text. In CommonMark, only
// such a run cannot be confused with one inside a code block or code span.
func ticks(n int, text string) string {
	run := strings.Repeat("`", n)
	for strings.Contains(text, run) {
		run += "`"
	}
	return run
}

// code returns s as a code span. As CommonMark requires, the delimiter is longer
// than any run of backticks in s, and spaces separate it from backticks at either
// end of s.
func code(s string) string {
	s = source.Escape(s, "\t")
	run := ticks(1, s)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return run + s + run
}

// escape returns s as Markdown without markup, HTML or mentions. Values come from
// files that a stranger may have changed in a pull request, so they must not
// notify users or hide text.
func escape(s string) string {
	replace := []string{"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;"}
	for _, mark := range []string{`\`, "`", "*", "_", "[", "]", "#", "|", "~"} {
		replace = append(replace, mark, `\`+mark)
	}
	return strings.NewReplacer(replace...).Replace(source.Escape(s, "\t"))
}
