package main

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// lasts is the lifetime of the applier's token in seconds. With -keep the
// demonstration may run for hours.
const lasts = 24 * 60 * 60

// writeAccess writes a kubeconfig with the access of an existing service account,
// using the administrator's kubeconfig. It replaces the credentials of every user
// in that file and keeps the clusters.
func writeAccess(ctx context.Context, admin, namespace, account, file string) error {
	config, err := clientcmd.BuildConfigFromFlags("", admin)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(lasts))},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	access, err := clientcmd.LoadFromFile(admin)
	if err != nil {
		return err
	}
	for name := range access.AuthInfos {
		access.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	return clientcmd.WriteToFile(*access, file)
}
