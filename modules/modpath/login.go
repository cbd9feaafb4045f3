package modpath

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"cuelang.org/go/mod/modconfig"
)

// Logins returns a transport that adds the credentials of "cue login" to the requests for
// their registries. configDir is CUE's configuration directory, CUE_CONFIG_DIR or cue in
// the user's. base sends the requests. The credentials are no Keychain, because CUE's
// registry need not name a server that issues tokens, which the library demands.
func Logins(configDir string, base http.RoundTripper) http.RoundTripper {
	return &logins{dir: configDir, base: base}
}

type logins struct {
	dir  string
	base http.RoundTripper
}

// expiryMargin is the remaining time with which a token counts as expired.
const expiryMargin = 10 * time.Second

// RoundTrip implements http.RoundTripper. A request that was redirected to another host
// gets no credentials of the first one.
func (l *logins) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Host
	token, expired := l.token(host)
	if expired {
		// CUE renews the token and stores it for later uses. If that fails, the registry
		// refuses the old one.
		l.renew(req.Context(), host)
		token, _ = l.token(host)
	}
	if token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return l.base.RoundTrip(req)
}

// token returns the token of a registry in CUE's logins.json, or "". A file that can't
// be read has none: the registry then refuses the request, with a clear message.
func (l *logins) token(host string) (token string, expired bool) {
	data, err := os.ReadFile(filepath.Join(l.dir, "logins.json"))
	if err != nil {
		return "", false
	}
	var file struct {
		Registries map[string]struct {
			AccessToken string    `json:"access_token"`
			Expiry      time.Time `json:"expiry"`
		} `json:"registries"`
	}
	if json.Unmarshal(data, &file) != nil {
		return "", false
	}
	login := file.Registries[host]
	return login.AccessToken, !login.Expiry.IsZero() && time.Until(login.Expiry) < expiryMargin
}

// renew sends a request with CUE's own client, which renews the token of a registry.
func (l *logins) renew(ctx context.Context, host string) {
	resolver, err := modconfig.NewResolver(&modconfig.Config{
		CUERegistry: host, Env: []string{"CUE_CONFIG_DIR=" + l.dir},
	})
	if err != nil {
		return
	}
	loc, err := resolver.ResolveToRegistry("example.com/login", "v0.0.0")
	if err != nil {
		return
	}
	_, _ = loc.Registry.ResolveTag(ctx, loc.Repository, loc.Tag) // only the token matters
}
