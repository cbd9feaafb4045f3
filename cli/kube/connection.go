// Package kube connects the command line to a cluster.
//
//   - connection.go: the connection flags of kubectl, and the connection
//   - errors.go: connection errors as one line
//   - warnings.go: warnings of the API server, each once
//   - completion.go: completion of graph names
//
// [ConnectionFlags] is the entry point. Creating a connection sends no request;
// errors show up with the first one. They are errors for [Error]. Typical use:
//
//	a, err := flags.Connect(kube.PrintWarnings(env.Err))
//	states, err := a.StatusOf(ctx, owner)
//	return kube.Error(err)
//
// Requests themselves are the business of packages applier and applier/cluster.
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

// ConnectionFlags are the flags that select a cluster and the user that talks to
// it. They have the names and meanings of kubectl's flags.
type ConnectionFlags struct {
	// kubeconfig is the path of the kubeconfig. "" is $KUBECONFIG, which may list
	// several files, or else ~/.kube/config, or else the service account of the Pod.
	// context, cluster and user are names in the kubeconfig. "" is the current
	// context, and its cluster and user.
	kubeconfig, context, cluster, user string
	// as and asGroups are the user and the groups to impersonate. asGroups requires
	// as, because the API server rejects groups without a user.
	as       string
	asGroups []string
}

// AddFlags registers the flags with cmd. The contexts of the kubeconfig complete
// --context; clusters and users are rarely typed and have no completion.
func (f *ConnectionFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: $KUBECONFIG, or ~/.kube/config)")
	fl.StringVar(&f.context, "context", "", "name of the kubeconfig context to use")
	fl.StringVar(&f.cluster, "cluster", "", "name of the kubeconfig cluster to use")
	fl.StringVar(&f.user, "user", "", "name of the kubeconfig user to use")
	fl.StringVar(&f.as, "as", "", "username to impersonate")
	fl.StringArrayVar(&f.asGroups, "as-group", nil, "group to impersonate; requires --as; can be repeated")
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

// loader returns the reader of the kubeconfig with the flags applied. A missing
// kubeconfig is not an error yet: the completion of flags must work without one.
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

// config reads the kubeconfig. It sends no request. warn is called with each
// different warning of the API server once.
func (f *ConnectionFlags) config(warn func(string)) (*rest.Config, error) {
	if len(f.asGroups) > 0 && f.as == "" {
		return nil, errors.New("--as-group requires --as")
	}
	loader := f.loader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	// client-go's own error doesn't list the contexts that exist.
	if _, ok := raw.Contexts[f.context]; f.context != "" && !ok {
		return nil, fmt.Errorf("context %q does not exist in the kubeconfig; available contexts: %s",
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

// CheckNames returns an error if a namespace or the name of a graph is not valid.
// Without it, such a name would be looked up and reported as not found. The API
// server has the same rules: a DNS label for namespaces and a DNS subdomain for
// graphs.
func CheckNames(namespace string, graphs []string) error {
	if len(validation.IsDNS1123Label(namespace)) > 0 {
		return fmt.Errorf("--namespace %q: not a valid namespace name", namespace)
	}
	for _, name := range graphs {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("%q is not a valid graph name", name)
		}
	}
	return nil
}

// Connect returns an applier for the selected cluster. It sends no request. warn
// gets each different warning of the API server once, one call at a time. Pass
// the errors of the applier's methods to [Error].
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
