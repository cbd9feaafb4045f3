package kube

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/openapi"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/localapply"
	"github.com/pequod-io/pequod/inventory/foreign"
)

// Fallback returns a replacement for the dry runs that the account may not send, for
// commands that only compare. It sends no request. The types of the cluster are read
// when they are first needed, through the cache of --cache-dir.
func (f *ConnectionFlags) Fallback() *cluster.Fallback {
	return cluster.NewFallback(localapply.New(func() (openapi.ClientWithContext, error) {
		client, err := f.flags.ToDiscoveryClient()
		if err != nil {
			return nil, err
		}
		return openapi.ToClientWithContext(client.OpenAPIV3()), nil
	}))
}

// PrintFallback tells in one line that dry runs were replaced, if any were.
func PrintFallback(w io.Writer, f *cluster.Fallback) {
	if denied := f.Denied(); len(denied) > 0 {
		fmt.Fprintf(w, "pequod: compared without the API server's defaults: this account may not patch %s\n", strings.Join(denied, ", "))
	}
}

// ForeignReader returns a reader of the inventories of other tools. It finds kinds
// through the cache of --cache-dir, because most inventories don't name versions.
func (f *ConnectionFlags) ForeignReader() (*foreign.Reader, error) {
	config, err := f.flags.ToRESTConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper, err := f.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return &foreign.Reader{Objects: objects, Mapper: mapper}, nil
}
