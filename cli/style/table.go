package style

import (
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// Table returns a table in the form of kubectl get:
//
//	NAME           OBJECTS
//	web-1b2c3d4e   4
//
// If it is wider than width, cells are wrapped; 0 means no limit. Cells have neither
// newlines nor tabs.
func Table(header []string, rows [][]string, width int) string {
	gap := lipgloss.NewStyle().PaddingRight(3)
	last := gap.PaddingRight(0)
	t := table.New().Headers(header...).Rows(rows...).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).BorderHeader(false).
		StyleFunc(func(_, column int) lipgloss.Style {
			if column == len(header)-1 {
				return last
			}
			return gap
		})
	text := t.String()
	if width > 0 && lipgloss.Width(text) > width {
		text = t.Width(width).String()
	}
	var b strings.Builder
	writeTrimmed(&b, text)
	return b.String()
}

// Columns aligns the cells of rows, and returns the text of each row. Columns that
// are empty in every row are left out. The last cell of a row has no column of its
// own: it is the rest of the line. If it reaches beyond width, it is wrapped and
// continues below its beginning; 0 means no limit.
func Columns(p Painter, rows [][]Span, width int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell.Text))
		}
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		var line Line
		for j, cell := range row[:len(row)-1] {
			if widths[j] > 0 {
				line = append(line, Span{cell.Style, Pad(cell.Text, widths[j])}, Span{Text: "  "})
			}
		}
		rest := row[len(row)-1]
		texts[i] = append(line, rest).Render(p, 0)
		if width > 0 && Width(texts[i]) > width {
			texts[i] = hang(line.paint(p), p.Paint(rest.Style, rest.Text), width)
		}
	}
	return texts
}

// minRest is the least width of the block in which [hang] wraps text.
const minRest = 20

// hang returns text after begin, wrapped to width, with its lines below each other.
// If begin leaves too little room for that, all of it is wrapped.
func hang(begin, text string, width int) string {
	room := width - Width(begin)
	if room < minRest {
		return lipgloss.Wrap(strings.TrimRight(begin, " ")+"  "+text, width, "")
	}
	return lipgloss.JoinHorizontal(lipgloss.Top, begin, lipgloss.Wrap(text, room, ""))
}
