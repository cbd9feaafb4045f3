// Package pki makes what the components of a control plane know each other by:
// a certificate authority with the API server's certificate, a second one for
// the aggregation layer, the key that signs service account tokens, and a
// bearer token for each user.
//
// Ensure is the entry point. What lies in the directory already is kept, so
// that kubeconfigs and tokens survive a restart on old data. People
// authenticate by token and never by client certificate: a token passes
// through a proxy that ends TLS, a certificate doesn't.
package pki

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// User is somebody with a bearer token.
type User struct {
	Name   string
	Groups []string
}

// Files are the paths of what the API server and the controller manager read,
// and the users' tokens by name.
type Files struct {
	CA             string // certificate that clients trust
	ServerCert     string
	ServerKey      string
	ProxyCA        string // trusted for requests that an aggregated server is passed
	ProxyCert      string
	ProxyKey       string
	ServiceAccount string // private key of service account tokens
	TokenFile      string // as --token-auth-file has it
	Tokens         map[string]string
}

// Ensure makes in dir whatever isn't there yet, and returns where it all is.
// A directory belongs to one process at a time; Ensure doesn't lock it.
func Ensure(dir string, users []User) (Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Files{}, err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	files := Files{
		CA: at("ca.crt"), ServerCert: at("apiserver.crt"), ServerKey: at("apiserver.key"),
		ProxyCA: at("front-proxy-ca.crt"), ProxyCert: at("front-proxy.crt"), ProxyKey: at("front-proxy.key"),
		ServiceAccount: at("service-account.key"),
		TokenFile:      at("tokens.csv"), Tokens: map[string]string{},
	}
	if err := ensureAuthority(files.CA, "testcluster", files.ServerCert, files.ServerKey, serverTemplate()); err != nil {
		return Files{}, err
	}
	if err := ensureAuthority(files.ProxyCA, "testcluster-front-proxy", files.ProxyCert, files.ProxyKey, proxyTemplate()); err != nil {
		return Files{}, err
	}
	if err := ensureKey(files.ServiceAccount); err != nil {
		return Files{}, err
	}
	for _, user := range users {
		token, err := ensureToken(at(user.Name + ".token"))
		if err != nil {
			return Files{}, err
		}
		files.Tokens[user.Name] = token
	}
	return files, write(files.TokenFile, []byte(tokenLines(users, files.Tokens)))
}

// tokenLines is the token file: token, user, uid and the quoted groups.
func tokenLines(users []User, tokens map[string]string) string {
	var b strings.Builder
	for _, user := range users {
		fmt.Fprintf(&b, "%s,%s,%s,%q\n", tokens[user.Name], user.Name, user.Name, strings.Join(user.Groups, ","))
	}
	return b.String()
}

func ensureToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		return string(data), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return "", err
	}
	text := hex.EncodeToString(token)
	return text, write(path, []byte(text))
}

// write publishes a file whole or not at all: a process that is killed here
// must not leave half a key for the next one.
func write(path string, data []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

func exists(paths ...string) bool {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}
