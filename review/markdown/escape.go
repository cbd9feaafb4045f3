package markdown

import (
	"net/url"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
)

// mention is an at sign that notifies no user: a space without width follows it. A character
// reference for the sign would not help, because hosts look for mentions in the text of the
// page.
const mention = "@&#8203;"

// escape returns s as Markdown without markup, HTML or mentions.
func escape(s string) string {
	replace := []string{"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", mention, "://", ":&#47;/"}
	for _, mark := range []string{`\`, "`", "*", "_", "[", "]", "#", "|", "~", "!", "$"} {
		replace = append(replace, mark, `\`+mark)
	}
	return strings.NewReplacer(replace...).Replace(source.Escape(review.Clip(s), ""))
}

// code returns s as a code span. As CommonMark requires, the delimiter is longer
// than any run of backticks in s, and spaces separate it from backticks at either
// end of s.
func code(s string) string {
	s = source.Escape(review.Clip(s), "")
	run := ticks(1, s)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.TrimSpace(s) == "" {
		s = " " + s + " "
	}
	return run + s + run
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

// linkTo returns a link to an address of the command line. Any other than http and https is
// shown as text.
func linkTo(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(address, " <>()\"'`\\\n\r\t") {
		return code(address)
	}
	return "<" + address + ">"
}
