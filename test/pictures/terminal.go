package pictures

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The sizes of a terminal picture in pixels. Each span has an explicit length, so columns
// stay aligned with any monospaced font.
const (
	columnWidth = 7.8
	rowHeight   = 18
	frame       = 16
	titleBar    = 34
)

const terminalStyle = `
  .page { fill: #0d1117; stroke: #3d444d; } .bar { fill: #161b22; } .dot { fill: #3d444d; }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre; }
  .bold { font-weight: 700; } .faint { fill: #9ba5b1; } .red { fill: #ff7b72; } .green { fill: #3fb950; } .yellow { fill: #d9a32b; } .blue { fill: #58a6ff; }
  .prompt { fill: #58a6ff; font-weight: 700; }
`

// sgr matches the only escape sequences that the programs print.
var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// classes are the styles of package style by their codes.
var classes = map[string]string{"1": "bold", "2": "faint", "31": "red", "32": "green", "33": "yellow", "34": "blue"}

// span is text in one style that begins at a column.
type span struct {
	column      int
	class, text string
}

// terminal draws the output of a command as an SVG document. prompt is the command.
func terminal(prompt, output string) string {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	columns := utf8.RuneCountInString(prompt) + 2
	var body strings.Builder
	y := titleBar + frame + 4
	writeSpans(&body, y, []span{{0, "prompt", "$"}, {2, "bold", prompt}})
	for _, line := range lines {
		y += rowHeight
		spans, width := spansOf(line)
		columns = max(columns, width)
		writeSpans(&body, y, spans)
	}
	width, height := int(float64(columns)*columnWidth)+2*frame, y+frame
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%[1]d\" height=\"%[2]d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\" aria-label=\"%[3]s\">\n",
		width, height, escape("Terminal: $ "+prompt))
	fmt.Fprintf(&b, "<style>%s</style>\n", terminalStyle)
	fmt.Fprintf(&b, "<rect class=\"page\" x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width-1, height-1)
	fmt.Fprintf(&b, "<path class=\"bar\" d=\"M1 %d V9 a8 8 0 0 1 8 -8 H%d a8 8 0 0 1 8 8 V%d z\"/>\n", titleBar-6, width-9, titleBar-6)
	for i := range 3 {
		fmt.Fprintf(&b, "<circle class=\"dot\" cx=\"%d\" cy=\"14\" r=\"5\"/>\n", 18+18*i)
	}
	b.WriteString(body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// spansOf cuts a line at its escape sequences, and returns its width in columns.
func spansOf(line string) (spans []span, width int) {
	var active []string
	add := func(text string) {
		if text != "" {
			spans = append(spans, span{width, strings.Join(active, " "), text})
			width += utf8.RuneCountInString(text)
		}
	}
	for {
		at := sgr.FindStringSubmatchIndex(line)
		if at == nil {
			add(line)
			return spans, width
		}
		add(line[:at[0]])
		for code := range strings.SplitSeq(line[at[2]:at[3]], ";") {
			if class, ok := classes[code]; ok {
				active = append(active, class)
			} else {
				active = nil // 0 and the empty code reset
			}
		}
		line = line[at[1]:]
	}
}

func writeSpans(b *strings.Builder, y int, spans []span) {
	for _, s := range spans {
		if strings.TrimSpace(s.text) == "" {
			continue
		}
		class := ""
		if s.class != "" {
			class = fmt.Sprintf(" class=%q", s.class)
		}
		// Leading spaces move the span, because renderers differ in what they do with them.
		text := strings.TrimLeft(s.text, " ")
		column := s.column + len(s.text) - len(text)
		text = strings.TrimRight(text, " ")
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\"%s>%s</text>\n",
			frame+float64(float64(column)*columnWidth), y, float64(utf8.RuneCountInString(text))*columnWidth, class, escape(text))
	}
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder returns no errors
	return b.String()
}
