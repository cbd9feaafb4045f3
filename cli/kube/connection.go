package kube

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/inventory/stored"
)

// clusterFlags choose a cluster and who talks to it, as kubectl's flags do.
type ConnectionFlags struct {
	kubeconfig, context, cluster, user string
	as                                 string
	asGroups                           []string
}

func (f *ConnectionFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; by default those of $KUBECONFIG, or ~/.kube/config")
	fl.StringVar(&f.context, "context", "", "context of the kubeconfig to use")
	fl.StringVar(&f.cluster, "cluster", "", "cluster of the kubeconfig to use")
	fl.StringVar(&f.user, "user", "", "user of the kubeconfig to use")
	fl.StringVar(&f.as, "as", "", "user to impersonate")
	fl.StringArrayVar(&f.asGroups, "as-group", nil, "group to impersonate, with --as; repeatable")
	command.Must(cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := f.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}))
	for _, name := range []string{"cluster", "user", "as", "as-group"} {
		command.Must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

func (f *ConnectionFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	rules.WarnIfAllMissing = false
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: f.context,
		Context:        clientcmdapi.Context{Cluster: f.cluster, AuthInfo: f.user},
		AuthInfo:       clientcmdapi.AuthInfo{Impersonate: f.as, ImpersonateGroups: f.asGroups},
	})
}

// config reads the kubeconfig, and talks to nobody. Warnings of the API server
// go to warn, each once.
func (f *ConnectionFlags) config(warn func(string)) (*rest.Config, error) {
	if len(f.asGroups) > 0 && f.as == "" {
		return nil, errors.New("--as-group goes with --as")
	}
	loader := f.loader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	if _, ok := raw.Contexts[f.context]; f.context != "" && !ok {
		return nil, fmt.Errorf("context %q isn't in the kubeconfig; there are: %s",
			f.context, strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	config.UserAgent = "pequod/" + version.Program()
	config.WarningHandler = &warnings{warn: warn, said: map[string]bool{}}
	return config, nil
}

// validNames refuses names of a namespace and of graphs in it that can't be any.
func CheckNames(namespace string, graphs []string) error {
	if len(validation.IsDNS1123Label(namespace)) > 0 {
		return fmt.Errorf("--namespace %q: is not a namespace's name", namespace)
	}
	for _, name := range graphs {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("%q is not the name of a graph", name)
		}
	}
	return nil
}

// connect makes an applier for the cluster that the flags choose; the first
// request is sent by whoever uses it. Its errors are for [clusterError].
func (f *ConnectionFlags) Connect(warn func(string)) (*applier.Applier, error) {
	config, err := f.config(warn)
	if err != nil {
		return nil, err
	}
	client, err := cluster.New(config)
	if err != nil {
		return nil, kubeconfigError(err)
	}
	return &applier.Applier{Client: client, Inventories: stored.New(client.REST())}, nil
}
