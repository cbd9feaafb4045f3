package oci_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/test/messages"
)

// TestMessages checks that the errors about real failures keep the words of the registry, and tell
// what to do.
func TestMessages(t *testing.T) {
	type handler = func(http.ResponseWriter, *http.Request) bool
	json := func(code, words string) string {
		return fmt.Sprintf(`{"errors": [{"code": %q, "message": %q}]}`, code, words)
	}
	retry := "check the address and the network, or try again later"
	var found []string
	check := func(name string, err error, said, next string) {
		t.Run(name, func(t *testing.T) {
			messages.Check(t, err, said, next)
			if strings.Contains(fmt.Sprint(err), "hunter2") || strings.Contains(fmt.Sprint(err), "aHVudGVy") {
				t.Errorf("a credential is shown: %v", err)
			}
			found = append(found, fmt.Sprint(err))
		})
	}
	wait := func(o oci.Options) *oci.Client { return client(t, oci.WithTiming(o, noWait, never)) }
	var host string
	for _, test := range []struct {
		name       string
		answer     handler
		keychain   authn.Keychain
		digest     bool
		said, next string
	}{
		{"401 anonymous", says("/manifests/", 401, json("UNAUTHORIZED", "authentication required")), nil, false,
			"wants credentials: authentication required", "log in with 'docker login HOST'"},
		{"401 at the token server", says("/v2/", 401, json("UNAUTHORIZED", "token expired"), "WWW-Authenticate", `Basic realm="x"`), basic{}, false,
			"refused the credentials: token expired", "log in again with 'docker login HOST'"},
		{"401 that repeats the credentials", says("/manifests/", 401, json("UNAUTHORIZED", "no user ahab with hunter2")), basicNow{}, false,
			"refused the credentials", "log in again with 'docker login HOST'"},
		{"401 with a code alone", says("/manifests/", 401, json("UNAUTHORIZED", "")), nil, false, "wants credentials: UNAUTHORIZED", "log in with 'docker login HOST'"},
		{"403", says("/manifests/", 403, json("DENIED", "permission_denied: read_package")), nil, false,
			"denied access: permission_denied: read_package", "check what the account or its token may do in this repository"},
		{"404", says("/shop/", 404, json("NAME_UNKNOWN", "repository name not known to registry")), nil, false,
			"not found: repository name not known to registry", "check the repository and the tag"},
		{"404 of a proxy", says("/", 404, "no backend"), nil, false, "is not a registry: no backend", "check the address"},
		{"418", says("/manifests/", 418, "short and stout"), nil, false, "answered 418 I'm a teapot: short and stout", retry},
		{"429", says("/manifests/", 429, json("TOOMANYREQUESTS", "You have reached your pull rate limit.")), nil, false,
			"limits the number of requests: You have reached your pull rate limit.", "try again later, or log in for a higher limit"},
		{"429 with a time", says("/manifests/", 429, "slow down", "Retry-After", "7200"), nil, false, "limits the number of requests: slow down", "try again in 2h0m0s"},
		{"500", says("/manifests/", 500, json("UNKNOWN", "the disk is full")), nil, false, "answered 500 Internal Server Error: the disk is full", retry},
		{"503 of a proxy", says("/manifests/", 503, "upstream connect error"), nil, false, "answered 503 Service Unavailable: upstream connect error", retry},
		{"502 with a page", says("/manifests/", 502, "<html>\n<p>Bad"), nil, false, "answered 502 Bad Gateway", retry},
		{"login page", says("/manifests/", 200, "<html>", "Content-Type", "text/html"), nil, false, "answered with an HTML page", "check the address, the credentials and HTTPS_PROXY"},
		{"redirects", fails("/manifests/", 302, "Location", "/v2/shop/web/manifests/v1.0.0"), nil, false, "redirects without end", "check the address and HTTPS_PROXY"},
		{"plain redirect", fails("/manifests/", 302, "Location", "http://registry.example.com/"), nil, false, "cannot be reached over TLS", "allow plain HTTP with --registry-plain-http"},
		{"other content", says("/manifests/", 200, "{}"), nil, true, "does not match requested digest", "check the proxy or mirror in between, or publish the artifact again"},
		{"no manifest", says("/manifests/", 200, "text"), nil, false, "not a manifest: invalid character", "name a module or a bundle"},
		{"huge", says("/manifests/", 200, strings.Repeat(" ", 5<<20)), nil, false, "larger than 4 MiB", "remove what is not needed there"},
	} {
		place, digest := serve(t, test.answer)
		host = strings.TrimPrefix(strings.TrimSuffix(place, "/shop/web"), "oci://")
		ref := place + ":v1.0.0"
		if test.digest {
			ref = place + "@" + digest
		}
		err := pull(t.Context(), wait(oci.Options{Keychain: test.keychain}), parse(t, ref))
		check(test.name, err, test.said, strings.ReplaceAll(test.next, "HOST", host))
	}
	place, _ := serve(t, fails("/blobs/uploads", 404))
	img, _ := artifact(t)
	check("no repository", wait(oci.Options{}).Write(t.Context(), parse(t, place+":v2"), img), "has no such repository", "create it first; some registries, such as ECR, don't do so themselves")
	place, _ = serve(t, func(http.ResponseWriter, *http.Request) bool { return false })
	check("tag", pull(t.Context(), wait(oci.Options{}), parse(t, place+":v1.1.0")), "tag not found", "did you mean v1.0.0?")
	check("version", pull(t.Context(), wait(oci.Options{}), parse(t, place)), "no version", "want "+place+":TAG")
	check("file", pull(t.Context(), wait(oci.Options{}), parse(t, "oci-layout:/nowhere/at/all:v1")), "no such file or directory", "check the path")

	secure := httptest.NewUnstartedServer(registry.New(registry.Logger(discard)))
	secure.Config.ErrorLog = discard
	secure.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	defer secure.Close()
	host = strings.TrimPrefix(secure.URL, "https://")
	ref := parse(t, "oci://"+host+"/shop/web:v1.0.0")
	check("unknown authority", pull(t.Context(), wait(oci.Options{}), ref), "signed by an unknown authority", "name its CA with --registry-ca-file")
	trusted := secure.Client().Transport.(*http.Transport)
	other := trusted.Clone()
	other.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, host)
	}
	elsewhere := parse(t, "oci://registry.invalid/shop/web:v1.0.0")
	check("other name", pull(t.Context(), wait(oci.Options{Transport: other}), elsewhere), "certificate is valid for", "check the name of the host, and the clock of this machine")
	check("client certificate", pull(t.Context(), wait(oci.Options{Transport: other}), parse(t, "oci://example.com/shop/web:v1.0.0")), "refused the TLS connection: remote error: tls: certificate required", "check the certificates of both sides, and HTTPS_PROXY")
	check("DNS", pull(t.Context(), wait(oci.Options{}), elsewhere), "cannot find host registry.invalid: ", "check its name and the network")
	plain := httptest.NewServer(registry.New(registry.Logger(discard)))
	other.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(plain.URL, "http://"))
	}
	other.CloseIdleConnections()
	check("no TLS", pull(t.Context(), wait(oci.Options{Transport: other}), elsewhere), "does not speak TLS", "allow plain HTTP with --registry-plain-http")
	plain.Close()
	ref = parse(t, strings.Replace(plain.URL, "http://", "oci://", 1)+"/shop/web:v1.0.0")
	check("refused", pull(t.Context(), wait(oci.Options{}), ref), "connection refused", retry)
	slow := &http.Transport{DialContext: (&net.Dialer{Timeout: time.Nanosecond}).DialContext}
	check("timeout", pull(t.Context(), wait(oci.Options{Transport: slow}), ref), "does not answer in time", retry)
	hang := make(chan struct{})
	place, _ = serve(t, func(http.ResponseWriter, *http.Request) bool { <-hang; return false })
	t.Cleanup(func() { close(hang) })
	check("stalled", pull(t.Context(), client(t, oci.WithTiming(oci.Options{}, noWait, 50*time.Millisecond)), parse(t, place+":v1.0.0")), "stopped sending data", retry)
	place = dripping(t, "/manifests/")
	check("slow", pull(t.Context(), client(t, oci.WithTiming(oci.Options{}, noWait, dripTime)), parse(t, place+":v1.0.0")), "sends less than 1 KiB in a second", retry)

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"credsStore": "none-such"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HOME", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, dir)
	}
	c, err := oci.New(oci.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check("credential helper", pull(t.Context(), c, ref), `exec: "docker-credential-none-such": executable file not found in $PATH`, "check credHelpers and credsStore there")

	messages.Covered(t, "error.go", []string{"classify", "local", "connection", "answer", "plain", "plainHint"}, found)
}

// basicNow is a keychain whose credentials are sent although the registry doesn't ask for them.
type basicNow struct{}

func (basicNow) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Bearer{Token: "hunter2"}, nil
}
