package fetch

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
)

// Reasons of errors. The causes of [oci.Error] are reasons, too, whatever the source is.
const (
	NotFound       = string(oci.NotFound)
	Forbidden      = string(oci.Forbidden)
	RateLimited    = string(oci.RateLimited)
	DigestMismatch = string(oci.DigestMismatch)
	TooLarge       = string(oci.TooLarge)
	WrongType      = string(oci.WrongType)
	Unavailable    = string(oci.Unavailable)

	// Unsigned: the module has no signature, or none of a trusted signer.
	Unsigned = "Unsigned"
	// NotAllowed: the reference is to something that a Transform must not use.
	NotAllowed = "NotAllowed"
	// InvalidReference: the reference can't be understood.
	InvalidReference = "InvalidReference"
	// SecretNotFound and SecretInvalid are about a Secret that the reference names.
	SecretNotFound = "SecretNotFound"
	SecretInvalid  = "SecretInvalid"
	// ModuleInvalid: what was fetched is not a module that can be loaded.
	ModuleInvalid = "ModuleInvalid"
	// TimedOut: the fetch took longer than its limit.
	TimedOut = "TimedOut"
	// Failed is any other error.
	Failed = "Failed"
)

// Error is an error with a reason of its own.
type Error struct{ Reason, Message string }

func (e *Error) Error() string { return e.Message }

// Reason returns the reason of an error of [Fetcher.Fetch], in CamelCase.
func Reason(err error) string {
	var own *Error
	var problems problem.List
	var answer *oci.Error
	var limit *artifact.LimitError
	var not *artifact.NotModuleError
	var tooNew *artifact.TooNewError
	switch {
	case errors.As(err, &own):
		return own.Reason
	case errors.As(err, &answer):
		return string(answer.Cause)
	case errors.As(err, &problems):
		has := func(rule string) bool {
			return slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Rule == rule })
		}
		switch {
		case has(problem.RuleSignature):
			return Unsigned
		case has(problem.RuleDigest):
			return DigestMismatch
		}
		return ModuleInvalid
	case errors.As(err, &limit):
		return TooLarge
	case errors.As(err, &not):
		return WrongType
	case errors.As(err, &tooNew):
		return ModuleInvalid
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return Unavailable
	}
	return Failed
}

// Transient reports whether a repetition can succeed without a change by a user.
func Transient(err error) bool {
	return slices.Contains([]string{RateLimited, Unavailable, TimedOut, Failed}, Reason(err))
}

// RetryAfter returns the time that a registry demands to wait, or 0.
func RetryAfter(err error) time.Duration {
	var answer *oci.Error
	if errors.As(err, &answer) {
		return answer.RetryAfter
	}
	return 0
}

// secretError returns the error about a Secret with its reason. Errors of the API server keep
// theirs, unless the Secret doesn't exist.
func secretError(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return &Error{SecretNotFound, err.Error()}
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return err
	}
	return &Error{SecretInvalid, err.Error()}
}
