package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// timeout limits the processing of one request.
const timeout = 25 * time.Second

// Options configure a [Handler]. All are required.
type Options struct {
	// Receivers returns the Receivers whose status has a path. They must not be changed.
	Receivers func(ctx context.Context, path string) ([]*v1alpha1.Receiver, error)
	Secrets   Secrets
	// Deliver performs the effects of a message.
	Deliver func(context.Context, *v1alpha1.Receiver, source.Message) error
	// Rejected counts a request that didn't become a message, by the reason.
	Rejected func(why string)
	Now      func() time.Time
}

// Handler receives requests.
type Handler struct {
	Options
	tokens *tokens
	limits *limits
}

// NewHandler returns a handler.
func NewHandler(o Options) *Handler {
	return &Handler{Options: o, tokens: newTokens(o.Secrets, o.Now), limits: newLimits()}
}

// refusal is an answer other than 200. It says nothing about Receivers, tokens and objects.
type refusal struct {
	code  int
	text  string
	why   string // for the metric
	retry string // the header Retry-After
}

var (
	notFound      = &refusal{http.StatusNotFound, "not found", "unknown", ""}
	notAllowed    = &refusal{http.StatusMethodNotAllowed, "only POST is allowed", "method", ""}
	unauthorized  = &refusal{http.StatusUnauthorized, "unauthorized", "unauthorized", ""}
	tooLarge      = &refusal{http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB", "size", ""}
	tooManyValues = &refusal{http.StatusRequestEntityTooLarge, "the body has more than 50,000 values, or 200 levels", "size", ""}
	unreadable    = &refusal{http.StatusBadRequest, "the body can't be read", "body", ""}
	tooMany       = &refusal{http.StatusTooManyRequests, "too many requests", "limit", "1"}
	unavailable   = &refusal{http.StatusServiceUnavailable, "unavailable; send the request again", "", "5"}
	failed        = &refusal{http.StatusInternalServerError, "the message has not had its effects; the Events of the Receiver say why", "", ""}
	refused       = &refusal{http.StatusUnprocessableEntity, "the message is refused; the Events of the Receiver say why", "", ""}
	refusedForm   = &refusal{http.StatusUnprocessableEntity, "the message is refused: it is a form; send it with the content type application/json", "", ""}
	outdated      = &refusal{http.StatusConflict, "nothing is done: the message is older than the object; the Events of the Receiver name both times", "", ""}
)

// paths is the form of all paths.
var paths = regexp.MustCompile(`^` + prefix + `[0-9a-f]{64}$`)

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	answer := h.serve(w, request)
	if answer == nil {
		_, _ = io.WriteString(w, "done\n") // the sender may be gone
		return
	}
	if answer.why != "" {
		h.Rejected(answer.why)
	}
	if answer.retry != "" {
		w.Header().Set("Retry-After", answer.retry)
	}
	http.Error(w, answer.text, answer.code)
}

// serve processes a request, and returns nil after its effects are stored.
func (h *Handler) serve(w http.ResponseWriter, request *http.Request) *refusal {
	if !paths.MatchString(request.URL.Path) {
		return notFound
	}
	ctx, cancel := context.WithTimeout(request.Context(), timeout)
	defer cancel()
	receivers, err := h.Receivers(ctx, request.URL.Path)
	if err != nil {
		return unavailable
	}
	if len(receivers) != 1 { // two Receivers can't be told apart
		return notFound
	}
	r := receivers[0]
	switch {
	case request.Method != http.MethodPost:
		return notAllowed
	case request.ContentLength > source.MaxBody:
		return tooLarge
	case r.Labels[v1alpha1.LabelPaused] == "true":
		return unavailable
	}
	limit := h.limits.get(r.UID)
	if !limit.rate.AllowN(h.Now(), 1) {
		return tooMany
	}
	leave := limit.enter(ctx, request.ContentLength)
	if leave == nil {
		return tooMany
	}
	defer leave()
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, source.MaxBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return tooLarge
	}
	if err != nil {
		return unreadable
	}
	if answer := h.verify(ctx, r, request, body); answer != nil {
		return answer
	}
	return h.deliver(ctx, r, request.Header, body)
}

// verify returns nil if the sender knows the token.
func (h *Handler) verify(ctx context.Context, r *v1alpha1.Receiver, request *http.Request, body []byte) *refusal {
	answer := unauthorized
	for _, again := range []bool{false, true} {
		token, err := h.tokens.get(ctx, r, again)
		if err != nil {
			return unavailable
		}
		// The path in the status may be that of an old token, or written by somebody else.
		if !samePath(Path(token, r.Namespace, r.Name), request.URL.Path) {
			answer = notFound
			continue
		}
		if verified(r.Spec.Source.Webhook.Type, token, request.Header, body) {
			return nil
		}
		answer = unauthorized
	}
	return answer
}

// deliver delivers the message of a verified request.
func (h *Handler) deliver(ctx context.Context, r *v1alpha1.Receiver, header http.Header, body []byte) *refusal {
	hook := r.Spec.Source.Webhook
	if len(hook.Events) > 0 && !slices.Contains(hook.Events, event(hook.Type, header)) {
		return nil
	}
	form := isForm(header)
	if form && hook.Type == v1alpha1.WebhookGitHub {
		body = payload(body)
	}
	form = form && !json.Valid(body) // curl -d says that JSON is a form
	message := source.New(id(hook.Type, header), header, body)
	if message.Excess != "" {
		return tooManyValues
	}
	err := h.Deliver(ctx, r, message)
	if err == nil {
		return nil
	}
	switch class := source.ClassOf(err); {
	case class == source.Unavailable:
		return unavailable
	case class == source.Refused && form:
		return refusedForm
	case class == source.Refused:
		return refused
	case class == source.Outdated:
		return outdated
	}
	return failed
}

// isForm reports whether the body of a request is a form.
func isForm(header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// payload returns the JSON value of a form of GitHub, which has it in one field. A form is the content
// type that GitHub's page proposes for a new webhook.
func payload(body []byte) []byte {
	form, err := url.ParseQuery(string(body))
	if err != nil || !form.Has("payload") {
		return body
	}
	return []byte(form.Get("payload"))
}

// Server limits.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	maxHeader         = 64 << 10
)

// NewServer returns a server for a handler.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		WriteTimeout: readTimeout + maxWait + timeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
	}
}
