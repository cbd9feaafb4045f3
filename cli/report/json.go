package report

import (
	"bufio"
	"encoding/json"
)

// writeJSON prints the problems as an array, [] if there are none. What isn't
// UTF-8 becomes U+FFFD.
func writeJSON(w *bufio.Writer, problems []Problem) error {
	return encode(w, problems)
}

func encode(w *bufio.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
