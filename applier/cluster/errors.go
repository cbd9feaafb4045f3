package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
)

// maxMessage bounds what is shown of somebody else's message.
const maxMessage = 600

// Classify says what an error of the API server, or of the way to it, means.
func Classify(err error) *engine.Failure { return failure(err) }

// failure says what an error of the API server or of the way to it means.
func failure(err error) *engine.Failure {
	var (
		f      *engine.Failure
		noKind *NoKindError
	)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &noKind):
		// Its definition may be on its way: by this graph, or by somebody else.
		return &engine.Failure{Reason: engine.ReasonUnknownKind, Message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &engine.Failure{Reason: engine.ReasonApplyFailed, Message: fmt.Sprintf("the API server didn't answer in %v", requestTimeout)}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		// The way to the server, not the server.
		if way := Unreachable(err); way != nil {
			err = way
		}
		return &engine.Failure{Reason: engine.ReasonApplyFailed, Message: source.OneLine(err.Error(), maxMessage)}
	}
	return classify(err, status.Status())
}

// classify tells what may pass from what has to be changed by somebody.
func classify(err error, s metav1.Status) *engine.Failure {
	f := &engine.Failure{Reason: engine.ReasonApplyFailed, Message: source.OneLine(message(s), maxMessage)}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		f.RetryAfter = time.Duration(seconds) * time.Second
	}
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		f.Reason, f.Terminal, f.Conflicts = engine.ReasonConflict, true, conflicts(s)
		f.Message = conflictText(f.Conflicts)
	case strings.Contains(s.Message, "exceeded quota"):
		f.Reason = engine.ReasonQuotaExceeded // until somebody needs less
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		f.Reason = engine.ReasonNamespaceTerminating
	case strings.Contains(s.Message, "custom resource definition is terminating"):
		f.Reason = engine.ReasonUnknownKind // it goes, and may come again
	case untypedText.MatchString(f.Message):
		// The API server calls its own error what is the graph's.
		f.Reason, f.Terminal = engine.ReasonInvalid, true
		f.Message = untypedText.ReplaceAllString(f.Message, "")
	case strings.Contains(s.Message, "failed calling webhook"):
		f.Reason = engine.ReasonWebhookFailed
	case strings.Contains(s.Message, "denied the request"):
		f.Reason, f.Terminal = engine.ReasonDenied, true
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		f.Reason, f.Terminal = engine.ReasonForbidden, true
	case apierrors.IsInvalid(err) && immutable(s):
		f.Reason, f.Terminal, f.Immutable = engine.ReasonImmutable, true, true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err), s.Code == 406, s.Code == 415:
		f.Reason, f.Terminal = engine.ReasonInvalid, true
	case apierrors.IsNotFound(err) && s.Details != nil && s.Details.Kind == "namespaces":
		f.Reason, f.Terminal = engine.ReasonInvalid, true
		f.Message = "namespace " + s.Details.Name + " doesn't exist"
	}
	return f
}

// message prefers the causes of an Invalid, which are shorter than the message
// that repeats them after the object's name.
func message(s metav1.Status) string {
	if s.Reason != metav1.StatusReasonInvalid || s.Details == nil || len(s.Details.Causes) == 0 {
		return s.Message
	}
	var causes []string
	for _, c := range s.Details.Causes {
		text := bulky.ReplaceAllString(c.Message, "Invalid value: ")
		if c.Field != "" && c.Field != "<nil>" && c.Field != "[]" {
			text = c.Field + ": " + text
		}
		causes = append(causes, text)
	}
	return strings.Join(causes, "; ")
}

// untypedText begins the API server's message about an object whose fields are
// unknown or of the wrong type.
var untypedText = regexp.MustCompile(`^failed to (?:create typed patch object|convert new object) \(.*?\)(?: to proper version)?: \.?`)

// bulky is a value that the API server quotes before it says what is wrong with
// it, such as a whole Pod template. A Secret's could be one, too.
var bulky = regexp.MustCompile(`^Invalid value: (\{.*\}|\[.*\]|".{40,}"): `)

// immutableText is how Kubernetes words that a field can't be changed: there is
// no code for it.
var immutableText = regexp.MustCompile(`(?i)immutable|may not be (changed|updated)|may not change|updates to .* (spec )?for fields other than|` +
	`cannot (be changed|change)|can't be changed|updates .* are forbidden|is not allowed to be (changed|updated)`)

func immutable(s metav1.Status) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if immutableText.MatchString(c.Message) {
			return true
		}
	}
	return false
}
