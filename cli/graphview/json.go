package graphview

import (
	"encoding/json"
	"io"
)

// writeJSON writes an array even for one graph or none, so that readers need only
// one form. The elements are views; see there for the fields.
func writeJSON(w io.Writer, views []view) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(views)
}
