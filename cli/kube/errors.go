package kube

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
)

// kubeconfigError returns an error of reading the kubeconfig in one line.
// client-go's text for a missing one, "invalid configuration: no configuration
// has been provided", doesn't name the flag to set.
func kubeconfigError(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return noKubeconfig(&clientcmdapi.Config{})
	}
	return fmt.Errorf("kubeconfig: %s; correct it, or choose another file with --kubeconfig", strings.TrimPrefix(command.FileError(err).Error(), "invalid configuration: "))
}

// noKubeconfig returns the error that nothing names a cluster. raw is the kubeconfig
// as it was read: it is empty, or its current context has no cluster.
func noKubeconfig(raw *clientcmdapi.Config) error {
	if !clientcmdapi.IsConfigEmpty(raw) {
		return errors.New("the kubeconfig has no current context with a cluster; set --context or --server")
	}
	// client-go takes a file of the variable that is missing for an empty one.
	for _, file := range filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)) {
		if _, err := os.Stat(file); file != "" && err != nil {
			return fmt.Errorf("kubeconfig: %w; $KUBECONFIG names it: mend the variable, or set --kubeconfig", command.FileError(err))
		}
	}
	return errors.New("no kubeconfig found; set --kubeconfig or $KUBECONFIG")
}

// Error returns an error of the connection to the cluster, such as a refused
// connection or an invalid token, as one line without the wording of Go's network
// packages, and with the flags to set. It returns all other errors as they are, and nil for
// nil.
func Error(err error) error {
	if apierrors.IsUnauthorized(err) {
		return errors.New("the cluster doesn't accept these credentials (Unauthorized); renew them, or choose others with --context or --token")
	}
	way := cluster.Unreachable(err)
	switch {
	case way == nil:
		return err
	case strings.Contains(way.Cause, "certificate") || strings.Contains(way.Cause, "x509"):
		return fmt.Errorf("%w; name its authority with --certificate-authority, or its name with --tls-server-name", way)
	}
	return fmt.Errorf("%w; check its address, or choose another cluster with --context", way)
}
