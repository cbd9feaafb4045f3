package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/modules/inline"
)

// ConfigMaps returns a reader of the modules in ConfigMaps of the cluster. It connects when
// the first one is needed. namespace is that of references without one. warn is as in
// [ConnectionFlags.Connect].
func (f *ConnectionFlags) ConfigMaps(warn func(string), namespace string) inline.ConfigMaps {
	connect := sync.OnceValues(func() (*applier.Applier, error) { return f.Connect(warn) })
	return func(ctx context.Context, from, name string) (*inline.Module, error) {
		from = cmp.Or(from, namespace)
		a, err := connect()
		if err != nil {
			return nil, err
		}
		data, err := a.Client.REST().Get().AbsPath("/api/v1/namespaces", from, "configmaps", name).SetHeader("Accept", "application/json").DoRaw(ctx)
		shown := "ConfigMap " + path.Join(from, name)
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("%s: neither among the manifests beside the Transform nor in the cluster; create it, or add it to these manifests", shown)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown, Error(err))
		}
		var cm corev1.ConfigMap
		if err := json.Unmarshal(data, &cm); err != nil {
			return nil, err
		}
		return inline.FromConfigMap(&cm, inline.Origin{Name: shown})
	}
}
