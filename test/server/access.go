package server

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServiceAccount returns the access of an existing service account, in the same
// way as config and instead of its credentials. Its token is valid for a day.
func ServiceAccount(ctx context.Context, config *rest.Config, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: new(int64(24 * time.Hour / time.Second)),
	}}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	account := rest.AnonymousClientConfig(config)
	account.BearerToken = token.Status.Token
	return account, nil
}

// WriteKubeconfig writes a kubeconfig with the access of config, which must use a
// bearer token, for programs that are started. The namespace is the default of
// its context; it may be empty.
func WriteKubeconfig(path string, config *rest.Config, namespace string) error {
	const name = "test"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthority:     config.CAFile,
		CertificateAuthorityData: config.CAData,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	file.CurrentContext = name
	return clientcmd.WriteToFile(*file, path)
}
