package kube

import (
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/inventory/foreign"
)

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
