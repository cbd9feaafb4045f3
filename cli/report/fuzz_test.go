package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pequod-io/pequod/internal/problem"
)

// FuzzWrite writes a problem with any text in all formats. Formats of lines have one line without control
// characters, and the others are well-formed.
func FuzzWrite(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, s string, line int) {
		problems := problem.List{{
			Position: problem.Position{File: s, Line: line}, Path: s, Message: s, Hint: s, Rule: s, Related: problem.Position{File: s}, Instance: s,
		}}
		for _, format := range Formats() {
			out := write(t, format, problems, nil, Options{Version: s})
			if !utf8.ValidString(out) {
				t.Errorf("%s isn't UTF-8: %q", format, out)
			}
			switch format {
			case "text", "github":
				if strings.Count(out, "\n") != 1 || strings.ContainsFunc(strings.TrimSuffix(out, "\n"), unicode.IsControl) {
					t.Errorf("%s: %q", format, out)
				}
			case "junit":
				decoder := xml.NewDecoder(strings.NewReader(out))
				for {
					if _, err := decoder.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatalf("%v:\n%q", err, out)
					}
				}
			default:
				if !json.Valid([]byte(out)) {
					t.Errorf("%s isn't JSON: %q", format, out)
				}
			}
		}
	})
}
