package graphview

import (
	"encoding/json"
	"io"
)

// writeJSON writes an array, also for one graph and for none, so that whoever
// reads it needs one way only.
func writeJSON(w io.Writer, views []view) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(views)
}
