package html

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/drawing"
	"github.com/pequod-io/pequod/review/page"
)

var (
	//go:embed report.html
	reportTemplate string
	//go:embed report.css
	style string
	//go:embed report.js
	script string
)

// Options are the settings of a page. The zero value is ready for use.
type Options struct {
	// Source is the address of a file at a hosting site, with {file} and {line} in the
	// place of a path and a number:
	//
	//	https://github.com/acme/apps/blob/4f2c1aa/{file}#L{line}
	//
	// It must begin with https:// or http://. If it is empty, positions are text. Files
	// outside of the repository and those of removed objects are text, too.
	Source string
}

// Write prints a report. It writes in one piece, and nothing if it returns an error.
func Write(w io.Writer, r *review.Report, o Options) error {
	t, err := parse()
	if err != nil {
		return err
	}
	var body strings.Builder
	if err := t.Execute(&body, newView(r, o)); err != nil {
		return err
	}
	return page.Write(w, page.Page{
		Title: "Review: " + r.Verdict(), Style: drawing.Style + style, Script: script, Body: template.HTML(body.String()),
	})
}

func parse() (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{"shown": shown, "count": source.Count}).Parse(reportTemplate)
}

// shown makes invisible characters of a text visible, so that a name can't change how
// the text around it is read. Newlines stay.
func shown(text string) string { return source.Escape(cutText(text), "\n\t") }
