// Package kubeconfig reads the kubeconfig of another cluster from untrusted input, such
// as a Secret that a tenant wrote. [Parse] is the entry point.
//
// The package connects to nothing, reads no files and starts no programs.
package kubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// maxSize is the size of the largest kubeconfig in bytes.
const maxSize = 64 << 10

// Parse returns the configuration of the current context. Fields that make the client run
// programs, read files of its machine, connect through another server, trust any certificate
// or act as another user are errors: the address and the credentials have to be data. Errors
// quote nothing of the kubeconfig.
func Parse(data []byte) (*rest.Config, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d KiB", maxSize>>10)
	}
	loaded, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.New("it can't be read as a kubeconfig") // the error may quote it
	}
	current := loaded.Contexts[loaded.CurrentContext]
	if current == nil {
		return nil, errors.New("current-context names no context")
	}
	cluster, user := loaded.Clusters[current.Cluster], loaded.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("the current context names a cluster or a user that isn't there")
	}
	if field := forbidden(cluster, user); field != "" {
		return nil, fmt.Errorf("%s isn't allowed: the address and the credentials have to be data of the kubeconfig", field)
	}
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Scheme != "https" || server.Hostname() == "" || server.User != nil {
		return nil, errors.New("server isn't an https URL")
	}
	if ca := cluster.CertificateAuthorityData; len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, errors.New("certificate-authority-data has no certificate")
	}
	if len(user.ClientCertificateData) > 0 || len(user.ClientKeyData) > 0 {
		if _, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData); err != nil {
			return nil, errors.New("client-certificate-data and client-key-data aren't a certificate and its key")
		}
	} else if user.Token == "" {
		return nil, errors.New("the user has neither a token nor a client certificate")
	}
	return &rest.Config{
		Host: server.String(), BearerToken: user.Token,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName, CAData: cluster.CertificateAuthorityData,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}, nil
}

// forbidden returns the first field that is set and isn't allowed, or "".
func forbidden(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) string {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"certificate-authority", c.CertificateAuthority != ""},
		{"insecure-skip-tls-verify", c.InsecureSkipTLSVerify},
		{"proxy-url", c.ProxyURL != ""},
		{"exec", u.Exec != nil},
		{"auth-provider", u.AuthProvider != nil},
		{"client-certificate", u.ClientCertificate != ""},
		{"client-key", u.ClientKey != ""},
		{"tokenFile", u.TokenFile != ""},
		{"username", u.Username != "" || u.Password != ""},
		{"as", u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups)+len(u.ImpersonateUserExtra) > 0},
	} {
		if field.set {
			return field.name
		}
	}
	return ""
}
