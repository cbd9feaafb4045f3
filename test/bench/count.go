package main

import (
	"context"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pequod-io/pequod/test/faults"
)

// discovery is the pseudo-verb of requests for what the API server serves.
const discovery = "discovery"

// count lets the applier go through a load behind a proxy that counts.
func (m *measurement) count(ctx context.Context, name string) error {
	proxy, err := faults.Start(m.config, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	through := filepath.Join(m.scratch, "kubeconfig")
	if err := writeKubeconfig(through, proxy.Config(m.config)); err != nil {
		return err
	}
	namespace, err := m.namespace(ctx, "counted")
	if err != nil {
		return err
	}
	for _, verb := range []string{create, again, remove} {
		proxy.Reset()
		j := job{who: byApplier, load: name, verb: verb, namespace: namespace, kubeconfig: through}
		if _, err := m.run(ctx, j, 0); err != nil {
			return err
		}
		counts := map[string]int{}
		for _, r := range proxy.Requests() {
			if r.Discovery() {
				counts[discovery]++
			} else {
				counts[r.Verb]++
			}
		}
		m.requests[what{name, verb}] = counts
	}
	return nil
}

func writeKubeconfig(path string, config *rest.Config) error {
	file := clientcmdapi.NewConfig()
	file.Clusters["bench"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["bench"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "bench"}
	file.CurrentContext = "bench"
	return clientcmd.WriteToFile(*file, path)
}
