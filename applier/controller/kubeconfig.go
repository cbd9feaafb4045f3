package controller

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// kubeConfigSecret is the Secret with the kubeconfig of a graph, as a run has read it.
type kubeConfigSecret struct {
	ref    v1alpha1.SecretKeyReference
	digest kubeConfigDigest
	home   *cluster.Client // acts as the graph's account in the cluster of the graph

	unwatched bool      // the account may not watch the Secret
	readAt    time.Time // when to read it again, zero for not at all
}

// clusterOf returns the reference to the kubeconfig of a graph, and the zero value if its
// objects are in its own cluster.
func clusterOf(rg *v1alpha1.ResourceGraph) (ref v1alpha1.SecretKeyReference) {
	if rg.Spec.KubeConfig != nil {
		ref = rg.Spec.KubeConfig.SecretRef
	}
	return ref
}

// secretKey returns the key of the Secret in a namespace.
func secretKey(namespace string, ref v1alpha1.SecretKeyReference) inventory.Key {
	return inventory.Key{Kind: "Secret", Namespace: namespace, Name: ref.Name}
}

// kubeConfigIn returns the kubeconfig in a Secret, nil if there is none.
func kubeConfigIn(secret *unstructured.Unstructured, ref v1alpha1.SecretKeyReference) []byte {
	if secret == nil {
		return nil
	}
	keys := []string{ref.Key}
	if ref.Key == "" {
		keys = []string{"value", "value.yaml"}
	}
	for _, key := range keys {
		if text, found, _ := unstructured.NestedString(secret.Object, "data", key); found {
			data, err := base64.StdEncoding.DecodeString(text)
			if err == nil && len(data) > 0 {
				return data
			}
		}
	}
	return nil
}

// digestOfKubeConfig returns the digest of a kubeconfig.
func digestOfKubeConfig(data []byte) kubeConfigDigest {
	if data == nil {
		return kubeConfigDigest{}
	}
	return sha256.Sum256(data)
}
