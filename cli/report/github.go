package report

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// writeGitHub prints a workflow command per problem, as documented in
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions:
//
//	::error file=app.yaml,line=7,col=9,title=constraint::spec.port: 70000 is not <=65535
//
// Percent signs, and in properties colons and commas, are escaped as GitHub's
// runner undoes it; line ends and other control characters as in the text.
func writeGitHub(w *bufio.Writer, problems []Problem) error {
	for _, p := range problems {
		var properties []string
		set := func(name, value string) {
			if value != "" {
				properties = append(properties, name+"="+escapeProperty(oneLine(value)))
			}
		}
		set("file", p.File)
		if p.Line > 0 {
			set("line", strconv.Itoa(p.Line))
			if p.Column > 0 {
				set("col", strconv.Itoa(p.Column))
			}
		}
		set("title", p.Rule)
		message := sentence(p)
		if p.Line == 0 && p.Instance != "" {
			message = oneLine(p.Instance) + ": " + message
		}
		command := githubCommand(p.Severity)
		if len(properties) > 0 {
			command += " " + strings.Join(properties, ",")
		}
		if _, err := fmt.Fprintf(w, "::%s::%s\n", command, escapeData(message)); err != nil {
			return err
		}
	}
	return nil
}

func githubCommand(s Severity) string {
	switch s {
	case Error, Warning:
		return string(s)
	}
	return "notice"
}

func escapeData(s string) string {
	return strings.ReplaceAll(s, "%", "%25")
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(s)
}
