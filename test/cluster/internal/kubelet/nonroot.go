package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// rootImages are official images of Docker Hub that set no user, so that they run as
// root. The kubelet of a node reads the user from the image; no image exists here.
var rootImages = map[string]bool{
	"alpine": true, "busybox": true, "debian": true, "httpd": true, "mariadb": true, "mongo": true, "mysql": true,
	"nginx": true, "node": true, "postgres": true, "python": true, "redis": true, "ubuntu": true,
}

// verifyNonRoot returns the error of a kubelet if a container must not run as root and
// would. The settings of the container take precedence over those of its Pod.
func verifyNonRoot(pod *corev1.Pod, container *corev1.Container) error {
	var nonRoot *bool
	var user *int64
	if s := pod.Spec.SecurityContext; s != nil {
		nonRoot, user = s.RunAsNonRoot, s.RunAsUser
	}
	if s := container.SecurityContext; s != nil {
		if s.RunAsNonRoot != nil {
			nonRoot = s.RunAsNonRoot
		}
		if s.RunAsUser != nil {
			user = s.RunAsUser
		}
	}
	problem := ""
	switch {
	case nonRoot == nil || !*nonRoot:
		return nil
	case user != nil && *user == 0:
		problem = "container's runAsUser breaks non-root policy"
	case user == nil && runsAsRoot(container.Image):
		problem = "container has runAsNonRoot and image will run as root"
	default:
		return nil
	}
	return fmt.Errorf("%s (pod: %q, container: %s)", problem, fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), container.Name)
}

// runsAsRoot reports whether an image is one of rootImages, in any of the forms of its
// reference: "nginx", "library/nginx:1", "docker.io/library/nginx@sha256:…".
func runsAsRoot(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	image = strings.TrimPrefix(image, "docker.io/")
	image = strings.TrimPrefix(image, "library/")
	image, _, _ = strings.Cut(image, ":")
	return rootImages[image]
}
