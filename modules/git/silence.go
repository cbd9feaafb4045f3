package git

import (
	"context"
	"net"
	"net/url"
	"os"
	"time"

	"golang.org/x/net/proxy"

	"github.com/pequod-io/pequod/modules/oci"
)

// impatientScheme is the scheme of the proxy for connections by ssh. The library can't be given
// a connection or a time limit for reading, but only the URL of a proxy: SCHEME://DURATION.
const impatientScheme = "pequod-impatient"

func init() {
	proxy.RegisterDialerType(impatientScheme, func(u *url.URL, _ proxy.Dialer) (proxy.Dialer, error) {
		limit, err := time.ParseDuration(u.Host)
		return impatient(limit), err
	})
}

// impatient connects as the library does without a proxy, which is by that of the environment if
// there is one. It ends connections on which no byte arrives for this time, less than
// [oci.LeastRate] over twice of it, or more than [maxAnswer].
type impatient time.Duration

// Dial implements proxy.Dialer.
func (i impatient) Dial(network, address string) (net.Conn, error) {
	return i.DialContext(context.Background(), network, address)
}

// DialContext implements proxy.ContextDialer.
func (i impatient) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := proxy.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &impatientConn{Conn: conn, limit: time.Duration(i), left: maxAnswer}, nil
}

// impatientConn is a connection whose reads and writes end limit after the last read began.
type impatientConn struct {
	net.Conn
	limit time.Duration
	// waited is how long reads took since the rate was measured last, and passed what they read.
	// One goroutine reads.
	waited time.Duration
	passed int
	left   int // bytes that may still be read
}

// Read implements net.Conn.
func (c *impatientConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLargePack // the libraries only tell that the connection has ended
	}
	if c.waited > 2*c.limit {
		if float64(c.passed) < c.waited.Seconds()*oci.LeastRate {
			return 0, os.ErrDeadlineExceeded
		}
		c.waited, c.passed = 0, 0
	}
	began := time.Now()
	if err := c.SetDeadline(began.Add(c.limit)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	c.waited += time.Since(began)
	c.passed += n
	return n, err
}

// heard records the answers of a server during a fetch.
type heard struct {
	at    time.Time // when it sent something of use last
	words string    // what it said about the last refusal, as [oci.Said] returns it
}

// Write implements io.Writer.
func (h *heard) Write(p []byte) (int, error) {
	h.at = time.Now()
	return len(p), nil
}

// explain returns [oci.ErrStalled] if err, of a fetch by ssh, is that of a connection that
// [impatient] ended. The libraries turn its error into the end of the answer. It adds the words
// of the server to other errors.
func (o Options) explain(ref Ref, heard *heard, err error) error {
	if err != nil && heard.words != "" {
		return &saidError{err, heard.words}
	}
	if err == nil || ref.URL.Scheme != "ssh" || time.Since(heard.at) < o.patience() {
		return err
	}
	if cause, _, _ := causeOf(ref, err); cause != oci.Unavailable {
		return err
	}
	return oci.ErrStalled
}
