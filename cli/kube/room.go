package kube

import (
	"context"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/internal/confine"
)

// Room returns what a process needs that connects to the cluster after it was confined: all connections,
// and the files of the kubeconfig. A plugin of the kubeconfig that makes credentials can't run then, so
// it runs now, for a first request. Connect reports what is wrong.
func (f *ConnectionFlags) Room(ctx context.Context) confine.Room {
	room := confine.Room{
		Network: true,
		Read:    append(clientcmd.NewDefaultClientConfigLoadingRules().Precedence, *f.flags.KubeConfig, "/var/run/secrets"),
	}
	config, err := f.config(func(string) {})
	if err != nil {
		return room
	}
	tls := config.TLSClientConfig
	room.Read = append(room.Read, tls.CAFile, tls.CertFile, tls.KeyFile, config.BearerTokenFile)
	if config.ExecProvider != nil {
		if client, err := discovery.NewDiscoveryClientForConfig(config); err == nil {
			client.RESTClient().Get().AbsPath("/version").Do(ctx)
		}
	}
	return room
}
