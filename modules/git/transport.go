package git

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/jdx/go-netrc"
	cryptossh "golang.org/x/crypto/ssh"
)

const (
	// answerTimeout limits the wait for the beginning of an answer. A server compresses a
	// large revision before it answers.
	answerTimeout = time.Minute
	// connectTimeout limits the time for a connection by ssh.
	connectTimeout = 30 * time.Second
	// maxAnswer limits an answer, in bytes: a pack with what the protocol adds, or a list
	// of tags and branches.
	maxAnswer = maxPack + maxPack/8
)

// connect prepares a session with the server of ref.
func (o Options) connect(ref Ref) (transport.UploadPackSession, error) {
	endpoint, err := transport.NewEndpoint(ref.URL.String())
	if err != nil {
		return nil, err
	}
	switch ref.URL.Scheme {
	case "file":
		return file.NewClient(transport.UploadPackServiceName, transport.ReceivePackServiceName).NewUploadPackSession(endpoint, nil)
	case "ssh":
		// The library asks the agent for keys and refuses hosts that known_hosts lacks.
		return ssh.NewClient(&cryptossh.ClientConfig{Timeout: connectTimeout}).NewUploadPackSession(endpoint, nil)
	}
	auth, err := o.credentials(ref)
	if err != nil {
		return nil, err
	}
	base := o.Transport
	if base == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = answerTimeout
		base = t
	}
	// The library follows redirects of the first request only, none from https to http,
	// and sends credentials to no other host.
	return githttp.NewClient(&http.Client{Transport: bounded{base}}).NewUploadPackSession(endpoint, auth)
}

// credentials returns the credentials in netrc for the host of ref, or nil.
func (o Options) credentials(ref Ref) (transport.AuthMethod, error) {
	name := cmp.Or(o.Netrc, os.Getenv("NETRC"))
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil // an account without a home directory has no file there
		}
		base := ".netrc"
		if runtime.GOOS == "windows" {
			base = "_netrc"
		}
		name = filepath.Join(home, base)
	}
	n, err := netrc.Parse(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		// The error of the library repeats words of the file.
		return nil, fmt.Errorf("cannot read credentials in %s", name)
	}
	m := n.Machine(ref.URL.Hostname())
	if m == nil {
		return nil, nil
	}
	return &githttp.BasicAuth{Username: m.Get("login"), Password: m.Get("password")}, nil
}

// bounded is a transport whose answers are limited to [maxAnswer].
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &body{answer.Body, maxAnswer}
	}
	return answer, err
}

// body is the body of an answer. At most left more bytes can be read from it.
type body struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLargePack
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
