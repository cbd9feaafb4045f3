package graphview

import (
	"encoding/json"
	"io"
)

// writeJSON writes an array even for one graph or none, so that readers need only
// one form.
func writeJSON(w io.Writer, views []view) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(views)
}
