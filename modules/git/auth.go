package git

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
	cryptossh "golang.org/x/crypto/ssh"
)

// Auth has the credentials for one server. It replaces those of the user: netrc, the ssh
// agent, and known_hosts. The zero value is anonymous for HTTP, and of no use for ssh.
//
// The cache asks for no credentials: whoever names a commit that it has reads it.
type Auth struct {
	// Username and Password are for HTTP. BearerToken is sent instead if it is set.
	Username, Password, BearerToken string
	// Key is a private key for ssh in PEM format. Passphrase decrypts it, and is ignored
	// if the key is not encrypted.
	Key        []byte
	Passphrase string
	// KnownHosts has the public keys of servers for ssh, in the format of the file
	// known_hosts. Servers that it lacks are refused.
	KnownHosts []byte
}

var (
	errNoKey      = errors.New("ssh wants a private key, which the credentials lack")
	errKey        = errors.New("the private key is not one in PEM format, or is encrypted with another password")
	errKnownHosts = errors.New("known_hosts is not in the format of OpenSSH")
)

// Format implements fmt.Formatter: no verb prints a credential.
func (Auth) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(credentials)") }

// Check returns an error if Key or KnownHosts can't be used. The error has no part of
// them.
func (a Auth) Check() error {
	if len(a.Key) == 0 {
		return nil
	}
	_, err := a.forSSH("git", net.JoinHostPort("localhost", "22"))
	return err
}

// refused returns the message for a host that answers err to the credentials.
func (a Auth) refused(host string, err error) string {
	switch {
	case errors.Is(err, errNoKey), errors.Is(err, errKey), errors.Is(err, errKnownHosts):
		return err.Error()
	case a.forHTTP() == nil && len(a.Key) == 0:
		return host + " wants credentials"
	}
	return host + " refused the credentials"
}

// forHTTP returns the credentials for HTTP, or nil for anonymous requests.
func (a Auth) forHTTP() transport.AuthMethod {
	switch {
	case a.BearerToken != "":
		return &githttp.TokenAuth{Token: a.BearerToken}
	case a.Username+a.Password != "":
		return &githttp.BasicAuth{Username: a.Username, Password: a.Password}
	}
	return nil
}

// forSSH returns the credentials of a user for the server at HOST:PORT.
func (a Auth) forSSH(user, address string) (ssh.AuthMethod, error) {
	if len(a.Key) == 0 {
		return nil, errNoKey
	}
	signer, err := cryptossh.ParsePrivateKey(a.Key)
	if encrypted := (*cryptossh.PassphraseMissingError)(nil); errors.As(err, &encrypted) {
		signer, err = cryptossh.ParsePrivateKeyWithPassphrase(a.Key, []byte(a.Passphrase))
	}
	if err != nil {
		return nil, errKey
	}
	check, algorithms, err := a.hostKeys(address)
	if err != nil {
		return nil, err
	}
	return pinned{&cryptossh.ClientConfig{
		User: cmp.Or(user, "git"), Auth: []cryptossh.AuthMethod{cryptossh.PublicKeys(signer)},
		HostKeyCallback: check, HostKeyAlgorithms: algorithms, Timeout: connectTimeout,
	}}, nil
}

// hostKeys returns the check of the key of the server at an address, and the algorithms of
// the keys that KnownHosts has for it. The libraries only read known_hosts from a file.
func (a Auth) hostKeys(address string) (cryptossh.HostKeyCallback, []string, error) {
	file, err := os.CreateTemp("", "pequod-known-hosts-")
	if err != nil {
		return nil, nil, err
	}
	defer os.Remove(file.Name()) // a file that stays has nothing secret
	_, err = file.Write(a.KnownHosts)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, nil, err
	}
	known, err := ssh.NewKnownHostsDb(file.Name())
	if err != nil {
		return nil, nil, errKnownHosts
	}
	check := known.HostKeyCallback()
	// The library dials the host that ~/.ssh/config names instead, if it does. The key must be
	// that of the reference all the same.
	return func(_ string, remote net.Addr, key cryptossh.PublicKey) error {
		return check(address, remote, key)
	}, known.HostKeyAlgorithms(address), nil
}

// pinned implements ssh.AuthMethod with a configuration that is complete.
type pinned struct{ config *cryptossh.ClientConfig }

func (pinned) Name() string   { return ssh.PublicKeysName }
func (pinned) String() string { return ssh.PublicKeysName }

// ClientConfig implements ssh.AuthMethod.
func (p pinned) ClientConfig() (*cryptossh.ClientConfig, error) { return p.config, nil }
