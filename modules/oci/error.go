package oci

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/pequod-io/pequod/internal/jsonlimit"
)

// Cause is the cause of an [Error]. Callers branch on it.
type Cause string

// The causes.
const (
	// Unauthorized: the registry wants credentials, or refuses the given ones.
	Unauthorized Cause = "Unauthorized"
	// Forbidden: the registry knows the account, which may not do this.
	Forbidden Cause = "Forbidden"
	// NotFound: no such tag, digest, repository or file.
	NotFound Cause = "NotFound"
	// RateLimited: the registry refused too many requests.
	RateLimited Cause = "RateLimited"
	// TLS: no encrypted connection with a trusted peer.
	TLS Cause = "TLS"
	// DigestMismatch: the bytes are not those that the digest or the size promises.
	DigestMismatch Cause = "DigestMismatch"
	// TooLarge: the artifact exceeds a limit.
	TooLarge Cause = "TooLarge"
	// WrongType: something else than what the caller wants.
	WrongType Cause = "WrongType"
	// Unavailable: no usable answer.
	Unavailable Cause = "Unavailable"
)

// Error is an operation on an artifact that failed. Its message is one line, names the
// reference, and contains no credentials and no URLs, which may contain signatures.
type Error struct {
	Cause Cause
	// Ref is the reference that the operation was about.
	Ref string
	// Message explains the cause to the user, with the words of the other side. Hint tells the
	// user how to proceed; if it is "", the one of the cause is used.
	Message, Hint string
	// Tags are existing tags if the cause is NotFound, the nearest first.
	Tags []string
	// RetryAfter is the time that the registry demands to wait if the cause is
	// RateLimited, or 0 if it named none.
	RetryAfter time.Duration
	// Err is the underlying error, or nil.
	Err error
}

func (e *Error) Error() string {
	return e.Ref + ": " + e.Message + "; " + cmp.Or(e.Hint, hints[e.Cause])
}

// hints contains the default hint for each cause.
var hints = map[Cause]string{
	Unauthorized:   "check the credentials",
	Forbidden:      "check what the account or its token may do in this repository",
	NotFound:       "check the name and the tag",
	RateLimited:    "try again later, or log in for a higher limit",
	TLS:            "check the certificates of both sides, and HTTPS_PROXY",
	DigestMismatch: "check the proxy or mirror in between, or publish the artifact again",
	TooLarge:       "remove what is not needed there",
	WrongType:      "name a module or a bundle",
	Unavailable:    "check the address and the network, or try again later",
}

func (e *Error) Unwrap() error { return e.Err }

// Causes reports whether err is an [Error] with the given cause.
func Causes(err error, cause Cause) bool {
	var e *Error
	return errors.As(err, &e) && e.Cause == cause
}

// About returns err with the reference in front, unless it is an [Error], which has it
// already.
func About(ref Ref, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s: %w", ref, err)
}

// ErrStalled is the error about a connection on which no byte arrives for too long.
var ErrStalled = errors.New("no data for too long")

// ErrSlow is the error about a connection on which less than [LeastRate] arrives.
var ErrSlow = errors.New("less than 1 KiB of data in a second")

// The other errors of our own round trippers.
var (
	errPlainHTTP = errors.New("plain HTTP is not allowed")
	errRedirects = errors.New("redirected too often")
	errPage      = errors.New("an HTML page instead of data")
)

// tooLargeError is an answer that exceeds its limit, in bytes.
type tooLargeError struct {
	what  string
	limit int64
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %s", e.what, sizeText(e.limit))
}

// limitedError is a refusal because of too many requests. after is 0 if the registry
// did not demand a time.
type limitedError struct {
	after time.Duration
	words string // those of [Said]
}

func (e *limitedError) Error() string { return "too many requests" }

// Said returns the words of an answer to r for messages, with a colon in front. It returns "" if
// there are none, for a page, and if they may repeat a secret of the request: its credentials, or
// the signature in its address. The words about a form, with which tokens are requested, are left
// out, too.
func Said(words string, r *http.Request) string {
	words = oneLine(words)
	if words == "" || strings.HasPrefix(words, "<") || r == nil || r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		return ""
	}
	_, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secrets := []string{secret}
	var long []string // may be secrets if they are as long as tokens and signatures are
	if user, password, ok := r.BasicAuth(); ok {
		secrets, long = append(secrets, password), append(long, user)
	}
	for _, values := range r.URL.Query() {
		long = append(long, values...)
	}
	secrets = append(secrets, slices.DeleteFunc(long, func(s string) bool { return len(s) < 16 })...)
	for _, s := range secrets {
		if s != "" && strings.Contains(words, s) {
			return ""
		}
	}
	return ": " + words
}

// classify returns err as an [Error] about ref. It returns the error of ctx if that is
// the cause, and an [Error] as it is, with ref added. authenticated reports whether the
// registry got credentials.
func classify(ctx context.Context, ref Ref, err error, authenticated func() bool) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", ref, context.Cause(ctx))
	}
	var known *Error
	if errors.As(err, &known) {
		if known.Ref == "" {
			known.Ref = ref.String()
		}
		return known
	}
	e := &Error{Ref: ref.String(), Err: err}
	host := ref.Host
	if !(e.local(err) || e.connection(host, err) || e.answer(host, err, authenticated) || e.plain(host, err)) {
		e.Cause, e.Message = Unavailable, "no usable answer: "+Detail(err)
	}
	return e
}

// local sets the cause of errors that the local side found.
func (e *Error) local(err error) bool {
	var tooLarge *tooLargeError
	var many *jsonlimit.Exceeded
	text := err.Error()
	switch {
	case errors.As(err, &tooLarge):
		e.Cause, e.Message = TooLarge, tooLarge.Error()
	case errors.As(err, &many):
		e.Cause, e.Message = TooLarge, Detail(err)
	case errors.Is(err, fs.ErrNotExist):
		e.Cause, e.Message, e.Hint = NotFound, "no such file or directory", "check the path"
	// The library repeats the output of the helper, which can contain credentials.
	case strings.Contains(text, "error getting credentials"):
		_, failure, _ := strings.Cut(text, "err: ")
		failure, _, _ = strings.Cut(failure, ", out: ")
		e.Cause, e.Message, e.Err = Unauthorized, "the credential helper in the configuration of Docker failed: "+oneLine(failure)+" (its output is not shown, because it can contain credentials)", nil
		e.Hint = "check credHelpers and credsStore there"
	// The library's errors about wrong digests and sizes have no exported type.
	case strings.Contains(text, "error verifying"), strings.Contains(text, "does not match requested digest"),
		strings.Contains(text, "does not match expected size"):
		e.Cause, e.Message = DigestMismatch, "wrong content: "+Detail(err)
	default:
		return false
	}
	return true
}

// connection sets the cause of errors that happened before an answer arrived.
func (e *Error) connection(host string, err error) bool {
	var unknown x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var alert *net.OpError // the type of alerts is not exported
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &unknown):
		e.Cause, e.Message = TLS, fmt.Sprintf("the certificate of %s is signed by an unknown authority", host)
		e.Hint = "name its CA with --registry-ca-file"
	case errors.As(err, &wrongHost), errors.As(err, &invalid), errors.As(err, &verification):
		e.Cause, e.Message = TLS, fmt.Sprintf("the certificate of %s is not valid: %s", host, Detail(err))
		e.Hint = "check the name of the host, and the clock of this machine"
	case errors.As(err, &alert) && alert.Op == "remote error":
		e.Cause, e.Message = TLS, fmt.Sprintf("%s refused the TLS connection: %s", host, Detail(err))
	case errors.Is(err, errRedirects):
		e.Cause, e.Message, e.Hint = Unavailable, host+" redirects without end", "check the address and HTTPS_PROXY"
	case errors.Is(err, errPage):
		e.Cause, e.Message = Unavailable, host+" answered with an HTML page, such as that of a login or a proxy"
		e.Hint = "check the address, the credentials and HTTPS_PROXY"
	case errors.Is(err, ErrStalled):
		e.Cause, e.Message = Unavailable, host+" stopped sending data"
	case errors.Is(err, ErrSlow):
		e.Cause, e.Message = Unavailable, host+" sends less than 1 KiB in a second"
	case errors.As(err, &dns):
		e.Cause, e.Message = Unavailable, fmt.Sprintf("cannot find host %s: %s", host, dns.Err)
		e.Hint = "check its name and the network"
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Cause, e.Message = Unavailable, host+" does not answer in time"
	default:
		return false
	}
	return true
}

// answer sets the cause of errors that the registry answered with.
func (e *Error) answer(host string, err error, authenticated func() bool) bool {
	var limited *limitedError
	if errors.As(err, &limited) {
		e.Cause, e.RetryAfter = RateLimited, limited.after
		e.Message = host + " limits the number of requests" + limited.words
		if limited.after > 0 {
			e.Hint = fmt.Sprintf("try again in %s", limited.after.Round(time.Second))
		}
		return true
	}
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return false
	}
	said := wordsOf(answer)
	writes := answer.Request != nil && answer.Request.Method != http.MethodGet && answer.Request.Method != http.MethodHead
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized && authenticated():
		e.Cause, e.Message = Unauthorized, host+" refused the credentials"+said
		e.Hint = "log in again with 'docker login " + shown(host) + "'"
	case status == http.StatusUnauthorized:
		e.Cause, e.Message = Unauthorized, host+" wants credentials"+said
		e.Hint = "log in with 'docker login " + shown(host) + "'"
	case status == http.StatusForbidden:
		e.Cause, e.Message = Forbidden, host+" denied access"+said
	case status == http.StatusNotFound && answer.Request != nil && strings.TrimSuffix(answer.Request.URL.Path, "/") == "/v2":
		e.Cause, e.Message, e.Hint = Unavailable, host+" is not a registry"+said, "check the address"
	case status == http.StatusNotFound && writes:
		e.Cause, e.Message = NotFound, host+" has no such repository"+said
		e.Hint = "create it first; some registries, such as ECR, don't do so themselves"
	case status == http.StatusNotFound:
		e.Cause, e.Message, e.Hint = NotFound, "not found"+said, "check the repository and the tag"
	default:
		e.Cause, e.Message = Unavailable, fmt.Sprintf("%s answered %s", host, strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status))))
		e.Message += said
	}
	return true
}

// wordsOf returns [Said] for the answer of a registry.
func wordsOf(answer *transport.Error) string {
	if len(answer.Errors) > 0 {
		return Said(cmp.Or(answer.Errors[0].Message, string(answer.Errors[0].Code)), answer.Request)
	}
	// The library keeps the body to itself, and writes it after the status.
	status := strings.TrimSpace(fmt.Sprintf("status code %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
	_, body, _ := strings.Cut(answer.Error(), status+": ")
	return Said(body, answer.Request)
}

const plainHint = "allow plain HTTP with --registry-plain-http"

// plain sets the cause of errors about TLS and plain HTTP. They come last: where plain
// HTTP is allowed, the library first tries TLS, and err has the errors of both.
func (e *Error) plain(host string, err error) bool {
	var record tls.RecordHeaderError
	switch {
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"), errors.As(err, &record):
		e.Cause, e.Message, e.Hint = TLS, host+" does not speak TLS", plainHint
	case errors.Is(err, errPlainHTTP):
		e.Cause, e.Message, e.Hint = TLS, host+" cannot be reached over TLS", plainHint
	default:
		return false
	}
	return true
}

// GivenUp returns an error about a request that [Repeating] gave up because the host limits
// requests, sends nothing, too little or a page for people, or nil for any other error.
func GivenUp(host string, err error) *Error {
	var limited *limitedError
	e := &Error{Err: err}
	if errors.As(err, &limited) && e.answer(host, err, nil) ||
		(errors.Is(err, ErrStalled) || errors.Is(err, ErrSlow) || errors.Is(err, errPage)) && e.connection(host, err) {
		return e
	}
	return nil
}

// Detail returns the text of an error without the URLs that the packages url and
// transport put in front of it.
func Detail(err error) string {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return oneLine(err.Error())
}

// maxDetail limits the length of texts of others in messages, in bytes.
const maxDetail = 300

// oneLine returns text without line breaks and control characters, and shortened.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return text
}

// sizeText returns a size in bytes for messages.
func sizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
