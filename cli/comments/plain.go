package comments

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/source"
)

// backticks are the runs that could end a code block.
var backticks = lazyregexp.New("`+")

// Plain returns Markdown that shows a text from strangers as it is: in a code block
// whose fence is longer than every run of backticks in the text, with control
// characters escaped. In a code block no host finds mentions, links, pictures, HTML or
// commands. The result has at most limit UTF-16 units: lines that don't fit are counted.
func Plain(text string, limit int) string {
	fence := "```"
	for _, run := range backticks().FindAllString(text, -1) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	// The fence of a text that is one run of backticks could fill the comment.
	room := limit - 2*len(fence) - 100
	var b strings.Builder
	shown := 0
	for _, line := range lines {
		line = source.Escape(line, "\t") + "\n"
		if room -= length(line); room < 0 {
			break
		}
		b.WriteString(line)
		shown++
	}
	left := len(lines) - shown
	if shown == 0 {
		return fmt.Sprintf("The report has %s, which don't fit here.", source.Count(left, "line"))
	}
	body := fence + "text\n" + b.String() + fence
	if left > 0 {
		body += fmt.Sprintf("\n\n%s of the report did not fit here.", source.Count(left, "more line"))
	}
	return body
}
