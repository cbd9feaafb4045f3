package git

import (
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParseRef parses any text as a reference. One that is accepted stays in its repository, has no
// credentials, and is the same when it is written and read again. Errors show no password.
func FuzzParseRef(f *testing.F) {
	for _, ref := range []string{
		"git::https://example.com/shop.git//modules/web?ref=v1.0.0", "ssh://git@example.com/shop", "git::file:///srv/shop.git", "http://127.0.0.1/x",
		"https://user:password@example.com/shop", "https://example.com/shop//..", "https://example.com/shop?ref=a%20b", "https://example.com/a%2f%2fb//c%2f..?ref=x%26y",
		"https://[::1]:80/x", "git::git::https://x/y", "https://example.com/shop?ref=a&ref=b", "\x00",
	} {
		f.Add(ref)
	}
	const canary = "canary5f0c1d2e"
	f.Fuzz(func(t *testing.T, text string) {
		file := strings.HasPrefix(strings.ToLower(strings.TrimPrefix(text, Prefix)), "file:") // a path is no password
		if _, err := ParseRef(strings.Replace(text, "://", "://me:"+canary+"@", 1)); err != nil && !file && strings.Contains(err.Error(), canary) && !strings.Contains(text, canary) {
			t.Errorf("the error has the password: %v", err)
		}
		ref, err := ParseRef(text)
		if err != nil {
			return
		}
		if _, password := ref.URL.User.Password(); password || !filepath.IsLocal(filepath.FromSlash(ref.Dir)) || ref.Name() == "" {
			t.Errorf("%q: %+v", text, ref)
		}
		again, err := ParseRef(ref.String())
		if err != nil || again.String() != ref.String() || again.Dir != ref.Dir || again.Revision != ref.Revision {
			t.Errorf("%q is %+v, and %q is %+v: %v", text, ref, ref.String(), again, err)
		}
	})
}
