package kube

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
)

func kubeconfigError(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("no kubeconfig found; name one with --kubeconfig or $KUBECONFIG")
	}
	return fmt.Errorf("kubeconfig: %s", strings.TrimPrefix(command.FileError(err).Error(), "invalid configuration: "))
}

// clusterError says in one line what is between the user and the cluster: an
// error of the way to it, without the names of Go's packages. Other errors stay
// as they are.
func ClusterError(err error) error {
	if apierrors.IsUnauthorized(err) {
		return errors.New("the cluster doesn't accept these credentials (Unauthorized)")
	}
	if way := cluster.Unreachable(err); way != nil {
		return way
	}
	return err
}
