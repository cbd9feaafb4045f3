package controlplane

import (
	"context"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// hostpathRoot is where the controller manager's provisioner creates directories.
// The path is hard-coded in Kubernetes.
const hostpathRoot = "/tmp/hostpath_pv/"

// ensureStorageClass creates the default storage class. Its claims are bound at
// once to directories that the controller manager creates.
func ensureStorageClass(ctx context.Context, client kubernetes.Interface) error {
	immediate, remove := storagev1.VolumeBindingImmediate, corev1.PersistentVolumeReclaimDelete
	_, err := client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "standard",
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:       "kubernetes.io/host-path",
		VolumeBindingMode: &immediate,
		ReclaimPolicy:     &remove,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// removeVolumes deletes the directories of remaining volumes when a cluster is
// discarded. Errors are ignored: an empty directory left in /tmp is not worth an
// error.
func removeVolumes(client kubernetes.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, volume := range volumes.Items {
		source := volume.Spec.HostPath
		if source != nil && strings.HasPrefix(source.Path, hostpathRoot) && volume.Annotations["kubernetes.io/createdby"] == "hostpath-dynamic-provisioner" {
			_ = os.RemoveAll(source.Path)
		}
	}
}
