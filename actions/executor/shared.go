package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pequod-io/pequod/api/action"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Static returns the problems of [action.Request], which rendering refuses, too, as errors of a check.
func Static(request v1alpha1.ActionExecutor) []error {
	var found []error
	for _, p := range action.Request(request) {
		found = append(found, errors.New(p.Path+": "+p.Message))
	}
	return found
}

// Field is a field of a request that must have a value.
type Field struct {
	Path    string
	Missing bool
}

// Check returns an error for each field that has no value, and those of [Static].
func Check(request v1alpha1.ActionExecutor, required ...Field) []error {
	var found []error
	for _, f := range required {
		if f.Missing {
			found = append(found, errors.New(f.Path+" is required"))
		}
	}
	return append(found, Static(request)...)
}

// Unplanned is part of executors that make no plans.
type Unplanned struct{}

// Plans implements [Executor].
func (Unplanned) Plans() bool { return false }

// Approve implements [Executor].
func (Unplanned) Approve(context.Context, Run, string) error { return ErrNotSupported }

// LostIf returns the error of a request that begins a run which can't be found because of why. If
// the run may have begun, it is lost.
func LostIf(err error, why string) error {
	if known, ok := err.(*Error); ok && known.Class == Unknown {
		return &Error{Class: Lost, Message: "the outcome is unknown, and " + why + ": " + known.Message}
	}
	return err
}

// Unlisted returns the error of a search that finds nothing: until a time, what is searched may be
// missing in lists. After it, there is none.
func Unlisted(now, until time.Time, what string) error {
	if !now.Before(until) {
		return nil
	}
	return &Error{Class: Later, After: now.Add(min(until.Sub(now), 2*time.Second)), Message: "the " + what + " may be listed later"}
}

// Into decodes the JSON of a response. failure returns the error of a response whose status code
// isn't one of want. host is the name of the product in messages.
func (c *Call) Into(into any, host string, failure func(c *Call, want ...int32) error) error {
	if err := failure(c, http.StatusOK); err != nil {
		return err
	}
	if err := json.Unmarshal(c.Body, into); err != nil {
		return &Error{Class: Unknown, Message: fmt.Sprintf("%s doesn't answer with JSON as %s does", PublicURL(c.URL), host)}
	}
	return nil
}
