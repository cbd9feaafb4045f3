package controlplane

import (
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pequod-io/pequod/test/cluster/internal/pki"
)

// access is the address of the API server with the credentials of one user.
type access struct {
	url   string
	files pki.Files
}

// config returns a client configuration without client-side throttling.
func (a access) config(user string) *rest.Config {
	return &rest.Config{
		Host:            a.url,
		BearerToken:     a.files.Tokens[user],
		TLSClientConfig: rest.TLSClientConfig{CAFile: a.files.CA},
		UserAgent:       "testcluster/" + user,
		QPS:             -1,
	}
}

// writeKubeconfig writes a self-contained kubeconfig. The file appears complete
// or not at all, because other processes wait for it and read it at once.
func (a access) writeKubeconfig(path, user string) error {
	ca, err := os.ReadFile(a.files.CA)
	if err != nil {
		return err
	}
	const name = "testcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: a.url, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: a.files.Tokens[user]}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
