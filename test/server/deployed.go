package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Deployed is one of our programs as its Deployment in a cluster runs it.
type Deployed struct {
	// Namespace and Account are those of its Pods.
	Namespace, Account string

	container corev1.Container
}

// ReadDeployed returns the program of an installed Deployment, which has one container.
func ReadDeployed(ctx context.Context, config *rest.Config, namespace, name string) (*Deployed, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		return nil, fmt.Errorf("reading Deployment %s/%s: it has %d containers instead of one", namespace, name, len(pod.Containers))
	}
	return &Deployed{Namespace: namespace, Account: pod.ServiceAccountName, container: pod.Containers[0]}, nil
}

// Command returns the command of the container as a local process. Its arguments and environment are
// those of the Deployment, with three exceptions, because a process shares the machine with others:
// addresses without a host get the loopback address and a port of the system's choice, volumes are
// directories in dir, and what a Pod reads from the files of its service account is in flags:
// kubeconfig, and the namespace of the lease. args come last, so they take precedence.
func (d *Deployed) Command(program, kubeconfig, dir string, args ...string) *exec.Cmd {
	var all []string
	for _, arg := range d.container.Args {
		all = append(all, anyPort.ReplaceAllString(arg, "=127.0.0.1:0"))
	}
	all = append(all, "--kubeconfig="+kubeconfig, "--leader-election-namespace="+d.Namespace)
	command := exec.Command(program, append(all, args...)...)
	command.Env = Environment()
	for _, env := range d.container.Env {
		value := env.Value
		if from := env.ValueFrom; from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory" {
			value = strconv.FormatInt(d.Memory(), 10)
		}
		for _, mount := range d.container.VolumeMounts {
			if rest, ok := strings.CutPrefix(value, mount.MountPath); ok {
				value = filepath.Join(dir, mount.Name+rest)
			}
		}
		command.Env = append(command.Env, env.Name+"="+value)
	}
	return command
}

// Memory returns the memory limit of the container in bytes.
func (d *Deployed) Memory() int64 { return d.container.Resources.Limits.Memory().Value() }

var anyPort = regexp.MustCompile(`=:\d+$`)

// Environment returns the environment of this process without variables that configure our programs,
// or that point to a cluster.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PEQUOD_") || strings.HasPrefix(v, "KUBECONFIG=") || strings.HasPrefix(v, "KUBERNETES_")
	})
}
