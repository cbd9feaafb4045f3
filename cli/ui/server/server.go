package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

// A Source has the content of the page.
type Source interface {
	// Page writes the page as HTML.
	Page(io.Writer) error
	// List sends the list of graphs and its changes until ctx is done.
	List(ctx context.Context, send Send) error
	// Graph sends the state of a graph and its changes until ctx is done.
	Graph(ctx context.Context, namespace, name string, send Send) error
	// Diff writes how a graph in the files differs from the cluster, as part of an HTML
	// page.
	Diff(ctx context.Context, namespace, name string, w io.Writer) error
}

// Server serves one source.
type Server struct {
	// First is the namespace and name of the graph that the page shows first, or "". It is set before
	// Serve.
	First string

	session  *session
	listener net.Listener
	// streams has a place for each open stream.
	streams chan struct{}
}

// Listen returns a server that listens on a loopback address. Port 0 is any free port. The
// caller must call [Server.Serve] or [Server.Close].
func Listen(address string, port int) (*Server, error) {
	addr, err := netip.ParseAddr(address)
	if err != nil || !addr.IsLoopback() {
		return nil, fmt.Errorf("--address %q: want a loopback address, such as 127.0.0.1 or ::1: the page shows what your account may read", address)
	}
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("--port %d: want a number from 0 to 65535", port)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(addr.String(), strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return &Server{session: newSession(), listener: listener, streams: make(chan struct{}, maxStreams)}, nil
}

// Address returns the address of the page with the token, which can be opened once.
func (s *Server) Address() string {
	return fmt.Sprintf("http://%s%s?token=%s", s.listener.Addr(), s.session.path, s.session.token)
}

// shutdownTimeout limits the time until all requests have ended.
const shutdownTimeout = 5 * time.Second

// Close ends a server that doesn't serve. Otherwise it has no effect.
func (s *Server) Close() { _ = s.listener.Close() } // it may be closed already

// Serve answers requests with the content of a source until ctx is done. All connections
// are closed when it returns.
func (s *Server) Serve(ctx context.Context, source Source) error {
	server := &http.Server{
		Handler: s.guard(s.handler(source)), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// Streams end with ctx. Whatever else is left is closed.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		return server.Close()
	}
	return nil
}

// handler answers requests that the guard has let in.
func (s *Server) handler(source Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+s.session.path+"{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, source.Page)
	})
	mux.HandleFunc("GET "+s.session.path+"graphs", func(w http.ResponseWriter, r *http.Request) {
		s.stream(w, r, source.List)
	})
	mux.HandleFunc("GET "+s.session.path+"graphs/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.stream(w, r, func(ctx context.Context, send Send) error {
			return source.Graph(ctx, r.PathValue("namespace"), r.PathValue("name"), send)
		})
	})
	mux.HandleFunc("GET "+s.session.path+"graphs/{namespace}/{name}/diff", func(w http.ResponseWriter, r *http.Request) {
		answer(w, func(w io.Writer) error {
			return source.Diff(r.Context(), r.PathValue("namespace"), r.PathValue("name"), w)
		})
	})
	return mux
}

// answer writes a part of a page, or the reason why there is none.
func answer(w http.ResponseWriter, write func(io.Writer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		refuse(w, http.StatusBadGateway, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the reader may be gone
}
