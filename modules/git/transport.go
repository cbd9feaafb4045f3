package git

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/jdx/go-netrc"
	cryptossh "golang.org/x/crypto/ssh"

	"github.com/pequod-io/pequod/modules/oci"
)

const (
	// answerTimeout limits the time without a byte. A server compresses a large revision
	// before it answers.
	answerTimeout = time.Minute
	// connectTimeout limits the time for a connection by ssh.
	connectTimeout = 30 * time.Second
	// maxAnswer limits an answer, in bytes, and what is read on a connection by ssh: a pack with what
	// the protocol adds.
	maxAnswer = maxPack + maxPack/8
	// maxList limits a list of tags and branches, in bytes. A hundred thousand of them have some 7 MB.
	maxList = 16 << 20
)

var errLargeList = fmt.Errorf("the list of tags and branches is larger than %d MiB", maxList>>20)

// connect prepares a session with the server of ref. heard gets its words.
func (o Options) connect(ref Ref, heard *heard) (transport.UploadPackSession, error) {
	endpoint, err := transport.NewEndpoint(ref.URL.String())
	if err != nil {
		return nil, err
	}
	switch ref.URL.Scheme {
	case "ssh":
		endpoint.Proxy.URL = impatientScheme + "://" + o.patience().String()
		return o.connectSSH(endpoint)
	case "file":
		return file.NewClient(transport.UploadPackServiceName, transport.ReceivePackServiceName).NewUploadPackSession(endpoint, nil)
	}
	auth, err := o.credentials(ref)
	if err != nil {
		return nil, err
	}
	base := o.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	// The library follows redirects of the first request only, none from https to http,
	// and sends credentials to no other host.
	return githttp.NewClient(&http.Client{Transport: bounded{oci.Repeating(base, o.patience()), heard}}).NewUploadPackSession(endpoint, auth)
}

// connectSSH prepares a session by ssh.
func (o Options) connectSSH(endpoint *transport.Endpoint) (transport.UploadPackSession, error) {
	if o.Auth != nil {
		auth, err := o.Auth.forSSH(endpoint.User, net.JoinHostPort(endpoint.Host, strconv.Itoa(cmp.Or(endpoint.Port, ssh.DefaultPort))))
		if err != nil {
			return nil, err
		}
		return ssh.DefaultClient.NewUploadPackSession(endpoint, auth)
	}
	keys, err := ssh.NewSSHAgentAuth(endpoint.User)
	if err != nil {
		return nil, err
	}
	return ssh.DefaultClient.NewUploadPackSession(endpoint, patient{keys})
}

// patience returns the time without a byte after which a connection is given up.
func (o Options) patience() time.Duration { return cmp.Or(o.answerTimeout, answerTimeout) }

// patient has the keys of an agent, and limits the time for a connection. The options of the
// library's client can't do that: they replace the keys and the check of hosts as well.
type patient struct{ ssh.AuthMethod }

// ClientConfig implements ssh.AuthMethod. Without a callback, the library refuses hosts that
// known_hosts lacks, and asks hosts with several keys for the one that is known.
func (p patient) ClientConfig() (*cryptossh.ClientConfig, error) {
	c, err := p.AuthMethod.ClientConfig()
	if err != nil {
		return nil, err
	}
	c.Timeout, c.HostKeyCallback = connectTimeout, nil
	return c, nil
}

// credentials returns the credentials for the host of ref, or nil: those of Auth, or else of
// netrc.
func (o Options) credentials(ref Ref) (transport.AuthMethod, error) {
	if o.Auth != nil {
		return o.Auth.forHTTP(), nil
	}
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

// maxWords limits what is read of a refusal, in bytes.
const maxWords = 4096

// bounded is a transport whose answers are limited to [maxAnswer]. It notes the words of refusals.
type bounded struct {
	http.RoundTripper
	heard *heard
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	answer.Body = &body{answer.Body, maxAnswer, errLargePack}
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		answer.Body = &body{answer.Body, maxList, errLargeList}
	}
	if b.heard.words = ""; answer.StatusCode >= http.StatusBadRequest {
		words, _ := io.ReadAll(io.LimitReader(answer.Body, maxWords)) // the message lacks what can't be read
		b.heard.words = oci.Said(string(words), r)
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(words), answer.Body), answer.Body}
	}
	return answer, nil
}

// body is the body of an answer. At most left more bytes can be read from it.
type body struct {
	io.ReadCloser
	left     int
	tooLarge error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.tooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
