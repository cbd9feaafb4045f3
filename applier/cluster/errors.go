package cluster

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/source"
)

// maxMessage is the maximum length of the message of a failure, which may quote
// the API server or a webhook.
const maxMessage = 600

// Classify converts an error of the API server or the network to a Failure. The
// failure is terminal if the error needs a change by a person, so that a retry
// can't help. A Failure is returned unchanged.
func Classify(err error) *engine.Failure {
	var (
		f      *engine.Failure
		noKind *NoKindError
		hidden *UnavailableKindError
	)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &noKind):
		// Not terminal: the CustomResourceDefinition may be created any time.
		return &engine.Failure{Reason: engine.ReasonUnknownKind, Message: err.Error()}
	case errors.As(err, &hidden):
		f = &engine.Failure{
			Reason: engine.ReasonKindUnavailable, Message: source.OneLine(err.Error(), maxMessage),
			Cure: "check 'kubectl get apiservices' and the versions of its CustomResourceDefinition",
		}
		if apierrors.IsUnauthorized(err) {
			f.Cure = renewCredentials
		}
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return &engine.Failure{
			Reason: engine.ReasonApplyFailed, Message: "the API server didn't answer in time",
			Cure: "check its load and its webhooks",
		}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		f = &engine.Failure{Reason: engine.ReasonApplyFailed, Message: source.OneLine(err.Error(), maxMessage)}
		if unreachable := Unreachable(err); unreachable != nil {
			f.Message, f.Cure = source.OneLine(unreachable.Error(), maxMessage), "check its address, its certificate and the network"
		}
		return f
	}
	return classifyStatus(err, status.Status())
}

// The cures of refusals that have several causes.
const (
	renewCredentials = "renew the credentials"
	changeObject     = "change the object, or the policy or webhook that refuses it"
	checkWebhook     = "check that the webhook's Service has Pods that are ready"
)

// classifyStatus converts an error that the API server sent. Some errors can only
// be recognized by their text, because their status code is shared with others.
// The order of the cases matters: a text that identifies an error precisely comes
// before the status code that it shares.
func classifyStatus(err error, s metav1.Status) *engine.Failure {
	f := &engine.Failure{
		Reason: engine.ReasonApplyFailed, Message: source.OneLine(statusMessage(s), maxMessage),
		Cure: "see the log of the API server if it goes on",
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		f.RetryAfter = time.Duration(seconds) * time.Second
	}
	switch {
	case deniedText().MatchString(s.Message):
		// First, because the rest of the status is the policy's or webhook's own:
		// it may resemble any other error.
		f.Reason, f.Terminal, f.Cure = engine.ReasonDenied, true, changeObject
		f.Message = source.OneLine(s.Message, maxMessage)
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		f.Reason, f.Terminal, f.Conflicts = engine.ReasonConflict, true, conflicts(s)
		f.Message, f.Cure = conflictText(f.Conflicts), "set applyPolicy.conflictPolicy: Force on the node, or apply with --force-conflicts"
	case strings.Contains(s.Message, "exceeded quota"):
		f.Reason, f.Cure = engine.ReasonQuotaExceeded, "delete other objects, or raise the ResourceQuota" // passes when other objects are deleted
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		f.Reason, f.Cure = engine.ReasonNamespaceTerminating, "wait until the namespace is gone, and create it again"
	case strings.Contains(s.Message, "custom resource definition is terminating"):
		f.Reason, f.Cure = engine.ReasonUnknownKind, "create the CustomResourceDefinition again when it is gone"
	case untypedText().MatchString(f.Message):
		// The API server reports a mistake in the object as an internal error.
		f.Reason, f.Terminal, f.Cure = engine.ReasonInvalid, true, "correct the field in the graph"
		f.Message = untypedText().ReplaceAllString(f.Message, "")
	case strings.Contains(s.Message, "failed calling webhook"), strings.Contains(s.Message, "conversion webhook for "):
		f.Reason, f.Cure = engine.ReasonWebhookFailed, checkWebhook
	case apierrors.IsUnauthorized(err):
		f.Reason, f.Terminal, f.Cure = engine.ReasonForbidden, true, renewCredentials
	case isUnauthorized(err):
		f.Reason, f.Terminal, f.Cure = engine.ReasonForbidden, true, "grant the right with a role; 'pequod rbac generate' prints those of a graph"
	case apierrors.IsForbidden(err):
		f.Reason, f.Terminal, f.Cure = engine.ReasonForbidden, true, changeObject
	case apierrors.IsInvalid(err) && isImmutable(s):
		f.Reason, f.Terminal, f.Immutable = engine.ReasonImmutable, true, true
		f.Cure = "change it back, or set applyPolicy.recreate: OnImmutable on the node"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err), s.Code == 406, s.Code == 415:
		f.Reason, f.Terminal, f.Cure = engine.ReasonInvalid, true, "correct the object in the graph"
	case apierrors.IsNotFound(err) && s.Details != nil && s.Details.Kind == "namespaces":
		f.Reason, f.Terminal = engine.ReasonInvalid, true
		f.Message = "namespace " + s.Details.Name + " doesn't exist"
		f.Cure = "create it with 'kubectl create namespace " + s.Details.Name + "'"
	}
	return f
}

// statusMessage returns the message of a Status. For an Invalid error it returns
// the causes instead: the message repeats them after the name of the object. Values that
// causes quote are left out, and so is the difference of the whole object at their end.
func statusMessage(s metav1.Status) string {
	if s.Reason != metav1.StatusReasonInvalid || s.Details == nil || len(s.Details.Causes) == 0 {
		return s.Message
	}
	var causes []string
	for _, c := range s.Details.Causes {
		text, _, _ := strings.Cut(quotedValue().ReplaceAllString(c.Message, "Invalid value: "), "\n@@")
		if c.Field != "" && c.Field != "<nil>" && c.Field != "[]" {
			text = c.Field + ": " + text
		}
		if !slices.Contains(causes, text) {
			causes = append(causes, text)
		}
	}
	return strings.Join(causes, "; ")
}

// untypedText matches the start of the API server's message about an object that
// has unknown fields or fields of the wrong type.
var untypedText = lazyregexp.New(`^failed to (?:create typed patch object|convert new object) \(.*?\)(?: to proper version)?: \.?`)

// quotedValue matches a long value that the API server quotes before the actual
// message, such as a whole Pod template. The value may be secret, too.
var quotedValue = lazyregexp.New(`^Invalid value: (\{.*\}|\[.*\]|".{40,}"): `)

// deniedText matches the denial of an admission webhook or of an admission policy
// (k8s.io/apiserver/pkg/admission/plugin). The webhook or policy chooses the
// status code.
var deniedText = lazyregexp.New(`admission webhook ".*?" denied the request|` +
	`(?:ValidatingAdmissionPolicy|policy) ['"].*?['"](?: with binding '.*?')? denied request: `)

// immutableText matches the messages about fields that can't be changed: those of
// Kubernetes, and those that authors of CustomResourceDefinitions usually choose
// for transition rules. The API has no status code for it.
var immutableText = lazyregexp.New(`(?i)immutable|may not be (changed|updated)|may not change|updates to .* (spec )?for fields other than|` +
	`cannot (be changed|change)|can't be changed|updates .* are forbidden|is not allowed to be (changed|updated)`)

// isImmutable reports whether an Invalid error is about a field that can't be
// changed. Such an object may be deleted and created again. Only causes that the
// validation of the kind wrote count: they have a type and a field, and those of
// admission plugins don't.
func isImmutable(s metav1.Status) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		isField := c.Type == metav1.CauseTypeFieldValueInvalid || c.Type == metav1.CauseTypeForbidden
		if isField && c.Field != "" && immutableText().MatchString(c.Message) {
			return true
		}
	}
	return false
}

// UnreachableError is a network error between the client and the API server, in
// one line without URLs of requests and Go package names.
type UnreachableError struct {
	// Server is the scheme and host of the API server.
	Server string
	// Cause is the network error.
	Cause string
}

// Error returns the text that the command line prints after the program's name.
func (e *UnreachableError) Error() string {
	return "cluster " + e.Server + " can't be reached: " + e.Cause
}

// Unreachable returns the network error in err, and nil if err isn't caused by
// the network. A canceled request is no network error.
func Unreachable(err error) *UnreachableError {
	var (
		known *UnreachableError
		sent  *url.Error
	)
	if errors.As(err, &known) {
		return known
	}
	if !errors.As(err, &sent) || errors.Is(err, context.Canceled) {
		return nil
	}
	server := sent.URL
	if u, err := url.Parse(sent.URL); err == nil && u.Host != "" {
		server = u.Scheme + "://" + u.Host
	}
	return &UnreachableError{server, networkCause(sent.Err)}
}

// networkCause returns the short text of a network error.
func networkCause(err error) string {
	var (
		errno syscall.Errno
		dns   *net.DNSError
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it doesn't answer"
	case errors.As(err, &dns):
		return dns.Err + ": " + dns.Name
	case errors.As(err, &errno):
		return errno.Error()
	}
	return err.Error()
}
