// Package page is the page of pequod ui: its shell, and the parts that the server sends
// again when the state of a graph changes.
//
// [Write] writes the shell, and [Of] the parts. The list is made by page.js from data; all
// other parts are HTML that templates have escaped. Invisible characters are shown as
// escape sequences, and long texts are cut, so that a name or a message changes nothing
// but itself.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/drawing"
	"github.com/pequod-io/pequod/review/html"
	"github.com/pequod-io/pequod/review/page"
)

var (
	//go:embed page.html
	markup string
	//go:embed page.css
	sheet string
	//go:embed page.js
	script string
)

// Shell has the parts of the page that don't change.
type Shell struct {
	// Cluster names the cluster, such as the context of the kubeconfig.
	Cluster string
	// Namespace is "" for all namespaces.
	Namespace string
	// Files are the names of the files that graphs are compared with.
	Files []string
}

// maxText is the longest text of a cell in bytes. It is more than any message of
// Kubernetes, and less than a page can bear a thousand times.
const maxText = 4000

// shown makes a text fit for the page. It cuts a long one between two characters and adds
// the number of bytes left out.
func shown(text string) string {
	if len(text) <= maxText {
		return source.Escape(text, "\n\t")
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return source.Escape(text[:end], "\n\t") + fmt.Sprintf("… (%d more bytes)", len(text)-end)
}

// templates parses the templates at their first use: most commands need none.
var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{"shown": shown, "count": source.Count}).Parse(markup)
})

// execute returns the output of one template.
func execute(name string, data any) (template.HTML, error) {
	t, err := templates()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// Write writes the page.
func Write(w io.Writer, s Shell) error {
	body, err := execute("shell", s)
	if err != nil {
		return err
	}
	return page.Write(w, page.Page{
		Title: "Pequod: " + source.Escape(s.Cluster, ""), Style: drawing.Style + drawing.StateStyle + html.Style() + sheet,
		Script: script, Connect: true, Body: body,
	})
}
