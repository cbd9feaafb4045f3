package git

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/oci"
)

// classify returns err as an [oci.Error] about ref. It returns the error of ctx if that is
// the cause, and errors about ref as they are. auth is that of [Options].
func classify(ctx context.Context, ref Ref, auth *Auth, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", ref, context.Cause(ctx))
	}
	if known := (*oci.Error)(nil); errors.As(err, &known) {
		return known
	}
	if refused := (problem.List)(nil); errors.As(err, &refused) {
		return refused
	}
	said := (*saidError)(nil)
	errors.As(err, &said)
	if unexpected := (*plumbing.UnexpectedError)(nil); errors.As(err, &unexpected) {
		err = unexpected.Err // it has no Unwrap
	}
	if gaveUp := oci.GivenUp(ref.host(), err); gaveUp != nil {
		gaveUp.Ref = ref.String()
		return gaveUp
	}
	e := &oci.Error{Ref: ref.String(), Err: err}
	e.Cause, e.Message, e.Hint = causeOf(ref, err)
	if auth != nil && e.Cause == oci.Unauthorized {
		e.Message, e.Hint = auth.refused(ref.host(), err), "name a Secret with credentials for it in pullSecretRef"
	}
	if said != nil {
		e.Message += said.words
	}
	return e
}

// saidError is an error with the words of the answer that caused it.
type saidError struct {
	error
	words string // those of [oci.Said]
}

func (e *saidError) Unwrap() error { return e.error }

// causeOf returns the cause of an error, its message, and what to do about it.
func causeOf(ref Ref, err error) (cause oci.Cause, message, hint string) {
	host := ref.host()
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	var timeout net.Error
	var answer *githttp.Err
	var key *knownhosts.KeyError
	var refs *packp.ErrUnexpectedData
	text := err.Error()
	switch {
	case errors.As(err, &refs) && bytes.Contains(refs.Data, []byte("object-format=sha256")):
		return oci.WrongType, "the object format of the repository is SHA-256, which is not supported", "use a repository with SHA-1, or publish the module with 'pequod module push'"
	case errors.Is(err, errLargePack), errors.Is(err, errLargeList), errors.Is(err, errUnpacked), errors.Is(err, errObjects):
		return oci.TooLarge, text, "publish the module with 'pequod module push', or keep it in a repository of its own"
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, errNoKey), errors.Is(err, errKey), errors.Is(err, errKnownHosts):
		return oci.Unauthorized, host + " wants credentials, or others than those in netrc", "add 'machine " + ref.URL.Hostname() + " login USER password TOKEN' to netrc"
	case strings.Contains(text, "SSH_AUTH_SOCK"), strings.Contains(text, "unable to authenticate"):
		return oci.Unauthorized, host + " wants a key: " + oci.Detail(err), "add it to the ssh agent with ssh-add"
	case errors.Is(err, transport.ErrAuthorizationFailed):
		return oci.Forbidden, host + " denied access", "check what the account or its token may read"
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return oci.NotFound, "no such repository, or no access without credentials", "check the address and netrc"
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return oci.NotFound, "the repository is empty", "push a commit first"
	case strings.Contains(text, "not our ref"):
		return oci.NotFound, "no such commit: " + oci.Detail(err), "check that it was pushed"
	case errors.As(err, &key), strings.Contains(text, "knownhosts:"), strings.Contains(text, "known_hosts"):
		return oci.TLS, "the key of " + host + " is not in known_hosts, or is another one there: " + oci.Detail(err), "compare it with the one that the host publishes, and add it with ssh-keyscan"
	case errors.As(err, &certificate):
		return oci.TLS, fmt.Sprintf("the certificate of %s is not valid: %v", host, certificate.Err), "add its authority to those of the system, or to the file that $SSL_CERT_FILE names"
	case errors.As(err, &dns):
		return oci.Unavailable, fmt.Sprintf("cannot find host %s: %s", host, dns.Err), "check its name and the network"
	case errors.As(err, &timeout) && timeout.Timeout():
		return oci.Unavailable, host + " does not answer in time", ""
	case errors.As(err, &answer):
		return oci.Unavailable, strings.TrimSpace(fmt.Sprintf("%s answered %d %s", host, answer.StatusCode(), http.StatusText(answer.StatusCode()))), ""
	case strings.Contains(text, "dubious ownership"):
		_, dir, _ := strings.Cut(text, " at '")
		dir, _, _ = strings.Cut(dir, "'")
		return oci.Forbidden, "git refuses a repository of another user: " + oci.Detail(err), "run 'git config --global --add safe.directory " + dir + "' if you trust it"
	case errors.Is(err, exec.ErrNotFound):
		return oci.Unavailable, "reading repositories on disk requires git, which is not installed", "install it, or use another address"
	}
	return oci.Unavailable, "no usable answer: " + oci.Detail(err), ""
}
