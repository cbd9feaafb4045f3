package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/pkg/fieldpath"
)

// mount writes the volumes of a container as directories, and returns where they are.
func (r *podProcesses) mount(ctx context.Context, c *corev1.Container) ([]path, error) {
	var paths []path
	for _, m := range c.VolumeMounts {
		for i := range r.pod.Spec.Volumes {
			v := &r.pod.Spec.Volumes[i]
			if v.Name != m.Name {
				continue
			}
			dir := r.join("volumes", v.Name)
			if err := r.volume(ctx, v, dir); err != nil {
				return nil, fmt.Errorf("volume %s: %w", v.Name, err)
			}
			paths = append(paths, path{filepath.Clean(m.MountPath), filepath.Join(dir, m.SubPath)})
		}
	}
	return paths, nil
}

// volume writes a volume unless an earlier container has it.
func (r *podProcesses) volume(ctx context.Context, v *corev1.Volume, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	files := map[string][]byte{}
	var err error
	switch {
	case v.EmptyDir != nil:
	case v.ConfigMap != nil:
		err = r.configMap(ctx, v.ConfigMap.LocalObjectReference, v.ConfigMap.Items, v.ConfigMap.Optional, files)
	case v.Secret != nil:
		err = r.secret(ctx, corev1.LocalObjectReference{Name: v.Secret.SecretName}, v.Secret.Items, v.Secret.Optional, files)
	case v.DownwardAPI != nil:
		err = r.downward(v.DownwardAPI.Items, files)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if err = r.project(ctx, s, files); err != nil {
				break
			}
		}
	default:
		err = fmt.Errorf("processes have no volumes of this type")
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (r *podProcesses) project(ctx context.Context, s corev1.VolumeProjection, files map[string][]byte) error {
	switch {
	case s.ConfigMap != nil:
		return r.configMap(ctx, s.ConfigMap.LocalObjectReference, s.ConfigMap.Items, s.ConfigMap.Optional, files)
	case s.Secret != nil:
		return r.secret(ctx, s.Secret.LocalObjectReference, s.Secret.Items, s.Secret.Optional, files)
	case s.DownwardAPI != nil:
		return r.downward(s.DownwardAPI.Items, files)
	case s.ServiceAccountToken != nil:
		token, err := r.token(ctx, s.ServiceAccountToken.Audience)
		files[s.ServiceAccountToken.Path] = []byte(token)
		return err
	}
	return fmt.Errorf("processes have no projections of this type")
}

func (r *podProcesses) configMap(ctx context.Context, ref corev1.LocalObjectReference, items []corev1.KeyToPath, optional *bool, files map[string][]byte) error {
	data := map[string][]byte{}
	object, err := r.client.CoreV1().ConfigMaps(r.pod.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err == nil {
		maps.Copy(data, object.BinaryData)
		for name, value := range object.Data {
			data[name] = []byte(value)
		}
	}
	return choose(data, items, missing(err, optional), files)
}

func (r *podProcesses) secret(ctx context.Context, ref corev1.LocalObjectReference, items []corev1.KeyToPath, optional *bool, files map[string][]byte) error {
	object, err := r.client.CoreV1().Secrets(r.pod.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return choose(object.Data, items, missing(err, optional), files)
}

// missing returns err, unless it means that an optional object is missing.
func missing(err error, optional *bool) error {
	if optional != nil && *optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// choose adds the files of an object: all keys, or those that items list.
func choose(data map[string][]byte, items []corev1.KeyToPath, err error, files map[string][]byte) error {
	if err != nil || len(items) == 0 {
		maps.Copy(files, data)
		return err
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			return fmt.Errorf("no key %s", item.Key)
		}
		files[item.Path] = value
	}
	return nil
}

func (r *podProcesses) downward(items []corev1.DownwardAPIVolumeFile, files map[string][]byte) error {
	for _, item := range items {
		if item.FieldRef == nil {
			return fmt.Errorf("processes have no resources")
		}
		value, err := fieldpath.ExtractFieldPathAsString(r.pod, item.FieldRef.FieldPath)
		if err != nil {
			return err
		}
		files[item.Path] = []byte(value)
	}
	return nil
}

// token returns a token of the Pod's service account.
func (r *podProcesses) token(ctx context.Context, audience string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: r.pod.Name, UID: r.pod.UID},
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	answer, err := r.client.CoreV1().ServiceAccounts(r.pod.Namespace).CreateToken(ctx, r.pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

// kubeconfig writes the access of the Pod's service account, and returns the file. Processes find
// it by KUBECONFIG: the paths that clients in a container read are those of this machine.
func (r *podProcesses) kubeconfig(ctx context.Context) (string, error) {
	file := r.join("kubeconfig")
	if mount := r.pod.Spec.AutomountServiceAccountToken; mount != nil && !*mount {
		return file, nil // which doesn't exist
	}
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	token, err := r.token(ctx, "")
	if err != nil {
		return "", err
	}
	ca, err := os.ReadFile(r.server.CAFile)
	if err != nil {
		return "", err
	}
	const name = "pod"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: r.server.URL, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: r.pod.Namespace}
	config.CurrentContext = name
	return file, clientcmd.WriteToFile(*config, file)
}
