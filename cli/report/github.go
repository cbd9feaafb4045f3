package report

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// writeGitHub prints one workflow command per problem, as documented in
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions:
//
//	::error file=app.yaml,line=7,col=9,title=constraint::spec.port: 70000 is not <=65535
//
// GitHub's runner decodes percent signs in messages, and also colons and commas
// in properties, so these are percent-encoded. Control characters, newlines
// among them, are escaped as in the text format.
func writeGitHub(w *bufio.Writer, entries []entry) error {
	escape := strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
	for _, e := range entries {
		var properties []string
		set := func(name, value string) {
			if value != "" {
				properties = append(properties, name+"="+escape.Replace(source.Escape(value, "")))
			}
		}
		set("file", e.Position.File)
		if e.Position.Line > 0 {
			set("line", strconv.Itoa(e.Position.Line))
			if e.Position.Column > 0 {
				set("col", strconv.Itoa(e.Position.Column))
			}
		}
		set("title", e.Rule)
		message := sentence(e)
		if e.Position.Line == 0 && e.Instance != "" {
			message = source.Escape(e.Instance, "") + ": " + message
		}
		command := e.Severity.String()
		if e.Severity == problem.Note {
			command = "notice"
		}
		if len(properties) > 0 {
			command += " " + strings.Join(properties, ",")
		}
		if _, err := fmt.Fprintf(w, "::%s::%s\n", command, strings.ReplaceAll(message, "%", "%25")); err != nil {
			return err
		}
	}
	return nil
}
