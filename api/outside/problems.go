package outside

import (
	"strings"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
)

// fieldAtBegin matches the field with which an error begins.
var fieldAtBegin = lazyregexp.New(`^spec[a-zA-Z0-9.\[\]]*`)

// Problems returns the errors of package monitor or receiver, each with its field.
func Problems(err error) problem.List {
	if err == nil {
		return nil
	}
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	var found problem.List
	for _, err := range errs {
		text := err.Error()
		path := fieldAtBegin().FindString(text)
		message := strings.TrimLeft(strings.TrimPrefix(text, path), ": ")
		found = append(found, problem.Problem{Path: path, Rule: problem.RuleSchema, Message: message})
	}
	return found
}
