package oci_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/modules/oci"
)

// discard is the log of the registries of tests.
var discard = log.New(io.Discard, "", 0)

// never is a stall timeout that no test reaches.
const never = time.Hour

// noWait returns at once, so that repetitions don't take time.
func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// basic is a keychain with one password for all registries.
type basic struct{}

func (basic) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: "ahab", Password: "hunter2"}, nil
}

// serve starts a registry in which an artifact is tagged v1.0.0, behind a handler that
// may answer in its place. It returns the place of the artifact and its digest.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request) bool) (place, digest string) {
	t.Helper()
	real := registry.New(registry.Logger(discard))
	var hostile atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostile.Load() || !answer(w, r) {
			real.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	place = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/shop/web"
	img, digest := artifact(t)
	if err := client(t, oci.Options{}).Write(t.Context(), parse(t, place+":v1.0.0"), img); err != nil {
		t.Fatal(err)
	}
	hostile.Store(true)
	return place, digest
}

// pull reads an artifact with all its blobs.
func pull(ctx context.Context, c *oci.Client, ref oci.Ref) error {
	img, err := c.Image(ctx, ref)
	if err != nil {
		return err
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		if _, err := l.Compressed(); err != nil {
			return err
		}
	}
	return nil
}

// fails returns a handler that answers all requests below path with a status.
func fails(path string, status int, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, path) {
			return false
		}
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		return true
	}
}

// says is fails with a body.
func says(path string, status int, body string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	fail := fails(path, status, headers...)
	return func(w http.ResponseWriter, r *http.Request) bool {
		failed := fail(w, r)
		if failed {
			fmt.Fprint(w, body)
		}
		return failed
	}
}

// TestMissingRepository checks that a push keeps the words of registries that don't create
// repositories themselves.
func TestMissingRepository(t *testing.T) {
	place, _ := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors": [{"code": "NAME_UNKNOWN", "message": "The repository with name 'shop/web' does not exist in the registry with id '123'"}]}`)
		return true
	})
	ref := parse(t, place+":v2.0.0")
	img, _ := artifact(t)
	err := client(t, oci.WithTiming(oci.Options{}, noWait, never)).Write(t.Context(), ref, img)
	want := ref.String() + ": " + ref.Host + " has no such repository: The repository with name 'shop/web' does not exist in the registry with id '123'; create it first; some registries, such as ECR, don't do so themselves"
	if !oci.Causes(err, oci.NotFound) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestHostileRegistries checks the error of every misbehavior, with all its text: a
// message has one line, and neither credentials nor the URLs of redirects.
func TestHostileRegistries(t *testing.T) {
	blob := func(w http.ResponseWriter, r *http.Request, send func()) bool {
		if strings.Contains(r.URL.Path, "/blobs/") {
			send()
			return true
		}
		return false
	}
	for name, test := range map[string]struct {
		answer   func(http.ResponseWriter, *http.Request) bool
		keychain authn.Keychain
		digest   bool // refer to the artifact by its digest
		cause    oci.Cause
		want     string // after the reference; HOST is the host
	}{
		"no credentials":    {fails("/v2/", 401, "WWW-Authenticate", `Basic realm="x"`), nil, false, oci.Unauthorized, "HOST wants credentials; log in with 'docker login HOST'"},
		"wrong credentials": {fails("/v2/", 401, "WWW-Authenticate", `Basic realm="x"`), basic{}, false, oci.Unauthorized, "HOST refused the credentials; log in again with 'docker login HOST'"},
		"forbidden":         {fails("/manifests/", 403), basic{}, false, oci.Forbidden, "HOST denied access; check what the account or its token may do in this repository"},
		"forbidden, with a reason": {says("/manifests/", 403, `{"errors": [{"code": "DENIED", "message": "permission_denied: read_package"}]}`), basic{}, false, oci.Forbidden,
			"HOST denied access: permission_denied: read_package; check what the account or its token may do in this repository"},
		"login page": {says("/manifests/", 200, "<!doctype html><p>Sign in", "Content-Type", "text/html; charset=utf-8"), nil, false, oci.Unavailable,
			"HOST answered with an HTML page, such as that of a login or a proxy; check the address, the credentials and HTTPS_PROXY"},
		"not found":        {fails("/shop/", 404), nil, false, oci.NotFound, "not found; check the repository and the tag"},
		"no registry":      {fails("/", 404), nil, false, oci.Unavailable, "HOST is not a registry; check the address"},
		"limited":          {fails("/", 429, "Retry-After", "7200"), nil, false, oci.RateLimited, "HOST limits the number of requests; try again in 2h0m0s"},
		"limited for ever": {fails("/manifests/", 429), nil, false, oci.RateLimited, "HOST limits the number of requests; try again later, or log in for a higher limit"},
		"broken":           {fails("/manifests/", 500), nil, false, oci.Unavailable, "HOST answered 500 Internal Server Error; check the address and the network, or try again later"},
		"broken blobs":     {fails("/blobs/", 502), nil, false, oci.Unavailable, "HOST answered 502 Bad Gateway; check the address and the network, or try again later"},
		"teapot":           {fails("/manifests/", 418), nil, false, oci.Unavailable, "HOST answered 418 I'm a teapot; check the address and the network, or try again later"},
		"text":             {fails("/manifests/", 200), nil, false, oci.WrongType, "not a manifest: unexpected end of JSON input; name a module or a bundle"},
		"redirect loop":    {fails("/manifests/", 302, "Location", "/v2/shop/web/manifests/v1.0.0"), nil, false, oci.Unavailable, "HOST redirects without end; check the address and HTTPS_PROXY"},
		"plain redirect":   {fails("/manifests/", 302, "Location", "http://registry.example.com/?signature=hunter2"), nil, false, oci.TLS, "HOST cannot be reached over TLS; allow plain HTTP with --registry-plain-http"},
		"cloud metadata":   {fails("/manifests/", 302, "Location", "http://169.254.169.254/"), nil, false, oci.Unavailable, `no usable answer: SSRF protection: redirect from "127.0.0.1" to private/link-local host "169.254.169.254" denied; check the address and the network, or try again later`},
		"other manifest": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				fmt.Fprint(w, `{}`)
				return true
			}
			return false
		}, nil, true, oci.DigestMismatch, ""},
		"index": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				fmt.Fprint(w, `{"schemaVersion": 2, "manifests": []}`)
				return true
			}
			return false
		}, nil, false, oci.WrongType, "an index of several artifacts, such as a container image for several platforms; name a module or a bundle"},
		"huge manifest": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				fmt.Fprint(w, strings.Repeat(" ", 5<<20))
				return true
			}
			return false
		}, nil, false, oci.TooLarge, "the answer of the registry is larger than 4 MiB; remove what is not needed there"},
		"huge blob": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				h := strings.Repeat("0", 64)
				fmt.Fprintf(w, `{"config": {"digest": "sha256:%s", "size": 2}, "layers": [{"digest": "sha256:%s", "size": 99999999999}]}`, h, h)
				return true
			}
			return false
		}, nil, false, oci.TooLarge, "a part of the artifact, with 99999999999 bytes, is larger than 64 MiB; remove what is not needed there"},
		"negative size": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				fmt.Fprintf(w, `{"config": {"digest": "sha256:%s", "size": -2}}`, strings.Repeat("0", 64))
				return true
			}
			return false
		}, nil, false, oci.WrongType, "not a manifest of an artifact: a digest that is not sha256, or a negative size; name a module or a bundle"},
		"wrong blob": {func(w http.ResponseWriter, r *http.Request) bool {
			return blob(w, r, func() {
				w.(http.Flusher).Flush() // no Content-Length
				fmt.Fprint(w, strings.Repeat("x", 5000))
			})
		}, nil, false, oci.DigestMismatch, ""},
		"wrong length": {func(w http.ResponseWriter, r *http.Request) bool {
			return blob(w, r, func() { fmt.Fprint(w, "short") })
		}, nil, false, oci.DigestMismatch, ""},
		"short blob": {func(w http.ResponseWriter, r *http.Request) bool {
			return blob(w, r, func() {
				w.(http.Flusher).Flush()
				fmt.Fprint(w, "short")
			})
		}, nil, false, oci.DigestMismatch, ""},
	} {
		t.Run(name, func(t *testing.T) {
			place, digest := serve(t, test.answer)
			ref := place + ":v1.0.0"
			if test.digest {
				ref = place + "@" + digest
			}
			c := client(t, oci.WithTiming(oci.Options{Keychain: test.keychain}, noWait, never))
			err := pull(t.Context(), c, parse(t, ref))
			var e *oci.Error
			if !errors.As(err, &e) || e.Cause != test.cause {
				t.Fatalf("%v, want cause %s", err, test.cause)
			}
			host := strings.TrimPrefix(strings.TrimSuffix(place, "/shop/web"), "oci://")
			if want := ref + ": " + strings.ReplaceAll(test.want, "HOST", host); test.want != "" && err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("message %q", err)
			}
		})
	}
}

// TestRepetitions checks that a request is repeated after a passing failure, with the
// delay that the registry demands, and that a broken transfer is repeated.
func TestRepetitions(t *testing.T) {
	var requests atomic.Int32
	var waited []time.Duration
	wait := func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		return nil
	}
	place, _ := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/manifests/") && !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		switch requests.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "37")
			w.WriteHeader(429)
		case 2:
			w.Header().Set("Retry-After", time.Now().Add(50*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		case 4: // the manifest was the third
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "x")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler) // breaks the connection
		default:
			return false
		}
		return true
	})
	c := client(t, oci.WithTiming(oci.Options{}, wait, never))
	if err := pull(t.Context(), c, parse(t, place+":v1.0.0")); err != nil {
		t.Fatal(err)
	}
	if len(waited) < 3 || waited[0] != 37*time.Second || waited[1] < 40*time.Second || waited[1] > 50*time.Second || waited[2] > time.Second {
		t.Errorf("waited %v", waited)
	}
	// No delay is begun that ends after the deadline.
	requests.Store(0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := pull(ctx, c, parse(t, place+":v1.0.0")); !oci.Causes(err, oci.RateLimited) {
		t.Errorf("with a deadline: %v", err)
	}
}

// TestUploadIsRepeated checks that a failed upload of a blob is repeated.
func TestUploadIsRepeated(t *testing.T) {
	var failed atomic.Bool
	place, _ := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && failed.CompareAndSwap(false, true) {
			w.WriteHeader(503)
			return true
		}
		return false
	})
	img, _ := artifact(t)
	c := client(t, oci.WithTiming(oci.Options{}, noWait, never))
	if err := c.Write(t.Context(), parse(t, place+":v2.0.0"), img); err != nil || !failed.Load() {
		t.Errorf("%v, failed %v", err, failed.Load())
	}
}

// TestStall checks that a server that stops sending is given up, and that an interrupt
// ends a request at once.
func TestStall(t *testing.T) {
	for _, path := range []string{"/v2/", "/manifests/", "/blobs/"} {
		hang := make(chan struct{})
		reached := make(chan struct{}, 100)
		place, _ := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, path) {
				return false
			}
			if path == "/blobs/" { // some bytes arrive
				w.Header().Set("Content-Length", "1000")
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
			}
			reached <- struct{}{}
			<-hang
			return true
		})
		t.Cleanup(func() { close(hang) }) // before the server waits for its handlers
		c := client(t, oci.WithTiming(oci.Options{}, noWait, 50*time.Millisecond))
		err := pull(t.Context(), c, parse(t, place+":v1.0.0"))
		if !oci.Causes(err, oci.Unavailable) || !strings.HasSuffix(err.Error(), " stopped sending data; check the address and the network, or try again later") {
			t.Errorf("%s: %v", path, err)
		}
		for len(reached) > 0 {
			<-reached
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-reached; cancel() }()
		c = client(t, oci.WithTiming(oci.Options{}, noWait, never))
		if err := pull(ctx, c, parse(t, place+":v1.0.0")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: interrupted: %v", path, err)
		}
	}
}

// dripTime is the time without a byte after which [dripping] counts as silent, also on a busy machine.
const dripTime = 3 * time.Second

// dripping returns the place of a registry that answers some requests with a byte now and then.
func dripping(t *testing.T, path string) string {
	place, _ := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, path) {
			return false
		}
		if path == "/manifests/" {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Content-Length", "1000000")
		}
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
		return true
	})
	return place
}

// TestDrip checks that a registry can't hold a command by sending a byte now and then.
func TestDrip(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/manifests/", "/blobs/"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			place := dripping(t, path)
			c := client(t, oci.WithTiming(oci.Options{}, noWait, dripTime))
			err := pull(t.Context(), c, parse(t, place+":v1.0.0"))
			if !oci.Causes(err, oci.Unavailable) || !strings.Contains(err.Error(), " sends less than 1 KiB in a second; ") {
				t.Error(err)
			}
		})
	}
}

// TestRedirectKeepsCredentials checks that a redirect to another host works and gets no
// credentials, whether the registry uses passwords or tokens.
func TestRedirectKeepsCredentials(t *testing.T) {
	for _, scheme := range []string{"Basic", "Bearer"} {
		var stolen, authorized atomic.Int32
		img, _ := artifact(t)
		blobs := registry.New(registry.Logger(discard))
		storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				stolen.Add(1)
			}
			blobs.ServeHTTP(w, r)
		}))
		defer storage.Close()
		var place string
		place, _ = serve(t, func(w http.ResponseWriter, r *http.Request) bool {
			host := strings.TrimPrefix(strings.TrimSuffix(place, "/shop/web"), "oci://")
			switch {
			case r.URL.Path == "/token":
				fmt.Fprint(w, `{"token": "hunter3"}`)
			case r.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", scheme+` realm="http://`+host+`/token"`)
				w.WriteHeader(401)
			case strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet:
				authorized.Add(1)
				http.Redirect(w, r, storage.URL+r.URL.Path, http.StatusTemporaryRedirect)
			default:
				return false
			}
			return true
		})
		c := client(t, oci.WithTiming(oci.Options{Keychain: basic{}}, noWait, never))
		if err := c.Write(t.Context(), parse(t, place+":v2.0.0"), img); err != nil {
			t.Fatal(err)
		}
		other := "oci://" + strings.TrimPrefix(storage.URL, "http://") + "/shop/web:v2.0.0"
		if err := client(t, oci.Options{}).Write(t.Context(), parse(t, other), img); err != nil {
			t.Fatal(err)
		}
		if err := pull(t.Context(), c, parse(t, place+":v2.0.0")); err != nil {
			t.Fatal(err)
		}
		if stolen.Load() != 0 || authorized.Load() == 0 {
			t.Errorf("%s: %d requests with credentials to another host, %d to the registry", scheme, stolen.Load(), authorized.Load())
		}
	}
}

// TestTLS checks connections with unknown and with named authorities, and that no other
// host than this machine is reached without TLS.
func TestTLS(t *testing.T) {
	real := registry.New(registry.Logger(discard))
	secure := httptest.NewUnstartedServer(real)
	secure.Config.ErrorLog = discard
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(real)
	defer plain.Close()
	host := strings.TrimPrefix(secure.URL, "https://")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, data, 0o644); err != nil {
		t.Fatal(err)
	}
	img, _ := artifact(t)
	ref := parse(t, "oci://"+host+"/shop/web:v1.0.0")
	err := client(t, oci.WithTiming(oci.Options{}, noWait, never)).Write(t.Context(), ref, img)
	if want := ref.String() + ": the certificate of " + host + " is signed by an unknown authority; name its CA with --registry-ca-file"; err == nil || err.Error() != want {
		t.Errorf("unknown authority: %v", err)
	}
	c := client(t, oci.Options{CAFile: ca})
	if err := c.Write(t.Context(), ref, img); err != nil {
		t.Errorf("named authority: %v", err)
	}
	if err := pull(t.Context(), c, ref); err != nil {
		t.Error(err)
	}
	if _, err := oci.New(oci.Options{CAFile: os.Args[0]}); err == nil || !strings.HasSuffix(err.Error(), "no certificate in PEM format") {
		t.Errorf("CA file: %v", err)
	}
	// Every host leads to the plain registry. 10.0.0.1 is private, for which the library
	// beneath tries plain HTTP.
	dial := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(plain.URL, "http://"))
	}}
	for _, host := range []string{"registry.example.com", "10.0.0.1:5000"} {
		ref := parse(t, "oci://"+host+"/shop/web:v1.0.0")
		err := pull(t.Context(), client(t, oci.WithTiming(oci.Options{Transport: dial}, noWait, never)), ref)
		if want := ref.String() + ": " + host + " does not speak TLS; allow plain HTTP with --registry-plain-http"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if err := pull(t.Context(), client(t, oci.Options{Transport: dial, PlainHTTP: true}), ref); err != nil {
			t.Errorf("with plain HTTP: %v", err)
		}
	}
}

// TestEndlessTags checks that a registry with pages of tags without end is given up.
func TestEndlessTags(t *testing.T) {
	page := `{"name": "shop/web", "tags": ["v1.0.0"` + strings.Repeat(`, "v1.0.1"`, 20_000) + `]}`
	place, _ := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") {
			return false
		}
		w.Header().Set("Link", `</v2/shop/web/tags/list?last=x>; rel="next"`)
		fmt.Fprint(w, page)
		return true
	})
	_, err := client(t, oci.Options{}).Tags(t.Context(), parse(t, place))
	if !oci.Causes(err, oci.TooLarge) {
		t.Error(err)
	}
}

// store counts the calls that reach the registry.
type store struct{ data map[string][]byte }

func (s *store) Get(ctx context.Context, digest string, _ int64, fetch func(context.Context) (io.ReadCloser, error)) ([]byte, error) {
	if data, ok := s.data[digest]; ok {
		return data, nil
	}
	r, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	s.data[digest], err = io.ReadAll(r)
	return s.data[digest], err
}

// TestStore checks that an artifact whose digest is known is read from the store of
// blobs without a request.
func TestStore(t *testing.T) {
	var requests atomic.Int32
	place, digest := serve(t, func(http.ResponseWriter, *http.Request) bool { requests.Add(1); return false })
	c := client(t, oci.Options{Blobs: &store{map[string][]byte{}}})
	ref := parse(t, place+"@"+digest)
	if err := pull(t.Context(), c, ref); err != nil {
		t.Fatal(err)
	}
	before := requests.Load()
	if err := pull(t.Context(), c, ref); err != nil || before == 0 || requests.Load() != before {
		t.Errorf("%v, %d requests, then %d", err, before, requests.Load())
	}
}
