// Package pki creates the credentials of a control plane: a certificate authority
// with the API server's certificate, a second authority for the aggregation
// layer, the key that signs service account tokens, and a bearer token for each
// user.
//
// [Ensure] is the entry point. It keeps existing files, so that kubeconfigs and
// tokens survive a restart on the same data. Users authenticate with tokens and
// never with client certificates, because a token passes a proxy that terminates
// TLS and a client certificate does not.
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

// User is a user with a bearer token.
type User struct {
	Name   string
	Groups []string
}

// Files has the paths of the files that the API server and the controller manager
// read, and the tokens of the users by name.
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

// Ensure creates the files that do not exist in dir and returns their paths. The
// caller must make sure that only one process uses the directory.
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

// tokenLines returns the content of the token file: token, user, uid and the
// quoted groups.
func tokenLines(users []User, tokens map[string]string) string {
	var b strings.Builder
	for _, user := range users {
		fmt.Fprintf(&b, "%s,%s,%s,%q\n", tokens[user.Name], user.Name, user.Name, strings.Join(user.Groups, ","))
	}
	return b.String()
}

// ensureToken returns the token in a file, and creates it if the file does not
// exist.
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

// write creates a file completely or not at all, so that a killed process does
// not leave half a key behind.
func write(path string, data []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// exists reports whether all paths exist.
func exists(paths ...string) bool {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}
