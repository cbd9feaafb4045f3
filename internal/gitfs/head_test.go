package gitfs

import "testing"

// TestPublicAddress checks that the address of a repository, which becomes public with
// what is rendered from it, has neither credentials nor paths of this machine.
func TestPublicAddress(t *testing.T) {
	for address, want := range map[string]string{
		"https://git.example.com/shop/deploy.git":             "https://git.example.com/shop/deploy.git",
		"https://ahab:hunter2@git.example.com/shop/deploy":    "https://git.example.com/shop/deploy",
		"https://hunter2@git.example.com/shop/deploy":         "https://git.example.com/shop/deploy",
		"https://git.example.com/shop/deploy?token=hunter2#x": "https://git.example.com/shop/deploy",
		"https://git.example.com:8443/shop/deploy":            "https://git.example.com:8443/shop/deploy",
		"ssh://git@git.example.com/shop/deploy.git":           "ssh://git.example.com/shop/deploy.git",
		"git@git.example.com:shop/deploy.git":                 "ssh://git.example.com/shop/deploy.git",
		"git.example.com:shop/deploy.git":                     "ssh://git.example.com/shop/deploy.git",
		"ahab:hunter2@git.example.com:shop/deploy":            "",
		"https://ahab:hunt%zzer2@git.example.com/shop/deploy": "",
		"/srv/git/deploy.git":                                 "",
		"../deploy":                                           "",
		"file:///srv/git/deploy.git":                          "",
		`C:\git\deploy`:                                       "",
		"":                                                    "",
	} {
		if got := publicAddress(address); got != want {
			t.Errorf("publicAddress(%q) = %q; want %q", address, got, want)
		}
	}
}
