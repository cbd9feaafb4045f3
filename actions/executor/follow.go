package executor

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Next returns the address of the next page of a list, by the header Link, or "".
func (c *Call) Next() string {
	for _, link := range strings.Split(c.Header.Get("Link"), ",") {
		at, rel, _ := strings.Cut(strings.TrimSpace(link), ";")
		if strings.Contains(rel, `rel="next"`) {
			return strings.Trim(at, "<>")
		}
	}
	return ""
}

// Pages reads the pages of a list, and reports whether it has reached the last one. send sends a GET
// request, and take takes a page. At most the first page spends the budget: if the program polls too
// often, everything since the first request is repeated, so two requests that spend it could wait
// for each other forever.
func Pages(at string, most int, poll bool, send func(at string, poll bool) (*Call, error), take func(*Call) error) (complete bool, err error) {
	for i := range most {
		c, err := send(at, poll && i == 0)
		if err != nil {
			return false, err
		}
		if err := take(c); err != nil {
			return false, err
		}
		if at = c.Next(); at == "" {
			return true, nil
		}
	}
	return false, nil
}

// Follow follows the redirection to a file, without credentials: the file is at another host, and
// its address is signed. The address is a secret. Other responses are returned as they are.
func (s Server) Follow(ctx context.Context, run Run, c *Call, caBundle string) (*Call, error) {
	switch c.Status {
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
	default:
		return c, nil
	}
	to := c.Resolve(c.Header.Get("Location"))
	var secrets []string
	if u, err := url.Parse(to); err == nil && u.RawQuery != "" {
		secrets = append(secrets, u.RawQuery)
	}
	return s.Call(ctx, run, Request{
		Method: http.MethodGet, URL: to, HTTPRequest: &v1alpha1.HTTPRequest{URL: to, CABundle: caBundle}, Secrets: secrets,
	})
}
