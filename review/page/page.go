// Package page writes HTML pages that are one file: they work from a disk, send no
// requests, unless they are live pages of a server of ours, and a
// Content-Security-Policy refuses every style and script that isn't theirs.
//
// [Write] is the entry point. The pages follow the light or dark colors of the
// system, and print in light ones.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
)

// A Page is the content of a file.
type Page struct {
	Title string
	// Style is added to the style sheet of all pages. Script may be empty. Neither
	// may contain text from strangers.
	Style, Script string
	// Connect permits the script to send requests to the server of the page.
	Connect bool
	// Body is the content of the element body. Attributes style and on… do not work in
	// it: the policy forbids them.
	Body template.HTML
}

//go:embed page.css
var baseStyle string

// The elements style and script have no white space around their content, because
// the hashes of the policy are those of the content.
const shell = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
{{.Body}}
{{with .Script}}<script>{{.}}</script>
{{end}}</body>
</html>
`

// Write writes a page in one piece.
func Write(w io.Writer, p Page) error {
	t, err := template.New("page").Parse(shell)
	if err != nil {
		return err
	}
	style := baseStyle + p.Style
	policy := "default-src 'none'; style-src " + source(style) + "; script-src " + source(p.Script) + "; base-uri 'none'; form-action 'none'"
	if p.Connect {
		policy += "; connect-src 'self'"
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Title, Policy string
		Style         template.CSS
		Script        template.JS
		Body          template.HTML
	}{p.Title, policy, template.CSS(style), template.JS(p.Script), p.Body})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// source returns the expression of a policy that permits one style or script.
func source(content string) string {
	if content == "" {
		return "'none'"
	}
	// Browsers normalize line ends before they hash.
	sum := sha256.Sum256([]byte(strings.ReplaceAll(content, "\r\n", "\n")))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
