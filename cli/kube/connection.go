// Package kube connects the command line to a cluster.
//
//   - connection.go: the connection flags of kubectl and their help, and the connection
//   - timeout.go: --request-timeout
//   - namespace.go: the namespace of the kubeconfig's context
//   - configmaps.go: the modules in ConfigMaps
//   - fallback.go: comparison without the right to send dry runs, and the reader of the inventories of
//     other tools
//   - errors.go: connection errors as one line
//   - warnings.go: warnings of the API server, each once
//   - completion.go: completion of graph names
//   - typename.go: objects that are named as for kubectl
//   - graphname.go: graphs by their names, their instances and their objects
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
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
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
// it: all connection flags of kubectl, with their names and meanings. The namespace
// is not one of them, because commands without a cluster have it, too.
type ConnectionFlags struct {
	// flags are the values, and the reader of the kubeconfig. AddFlags creates them.
	flags *genericclioptions.ConfigFlags
}

// AddFlags registers the flags with cmd, in a group of their own. The contexts of the
// kubeconfig complete --context; clusters and users are rarely typed and have no
// completion.
func (f *ConnectionFlags) AddFlags(cmd *cobra.Command) {
	// The kubeconfig is read once for each command line.
	f.flags = genericclioptions.NewConfigFlags(true)
	f.flags.Namespace = nil
	// The default depends on the home directory, which help must not.
	*f.flags.CacheDir = ""
	group := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.flags.AddFlags(group)
	group.VisitAll(func(flag *pflag.Flag) {
		if usage, ok := connectionUsage[flag.Name]; ok {
			flag.Usage = usage
		}
		cmd.Flags().AddFlag(flag)
	})
	command.Group(cmd, "Connection flags", group)
	command.Must(cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := f.flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}))
	group.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "context" && !slices.Contains(fileFlags, flag.Name) {
			command.Must(cmd.RegisterFlagCompletionFunc(flag.Name, cobra.NoFileCompletions))
		}
	})
}

// check returns an error for values that client-go would ignore or name without
// their flag.
func (f *ConnectionFlags) check() error {
	c := f.flags
	if *c.Impersonate == "" {
		// The API server refuses groups and the like without a user.
		for name, given := range map[string]bool{
			"as-group": len(*c.ImpersonateGroup) > 0, "as-uid": *c.ImpersonateUID != "", "as-user-extra": len(*c.ImpersonateUserExtra) > 0,
		} {
			if given {
				return fmt.Errorf("--%s requires --as", name)
			}
		}
	}
	for _, extra := range *c.ImpersonateUserExtra {
		if key, _, ok := strings.Cut(extra, "="); !ok || key == "" {
			return fmt.Errorf("--as-user-extra %q: want KEY=VALUE", extra)
		}
	}
	if d, err := clientcmd.ParseTimeout(*c.Timeout); err != nil || d < 0 {
		return fmt.Errorf("--request-timeout %q: want a duration such as 5s", *c.Timeout)
	}
	return nil
}

// config returns the configuration of the connection. It sends no request. warn is
// called with each different warning of the API server once.
func (f *ConnectionFlags) config(warn func(string)) (*rest.Config, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	raw, err := f.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	// client-go's own error doesn't list the contexts that exist.
	if _, ok := raw.Contexts[*f.flags.Context]; *f.flags.Context != "" && !ok {
		return nil, fmt.Errorf("context %q does not exist in the kubeconfig; choose another with --context: %s",
			*f.flags.Context, strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	// All clients that are made from the flags share this.
	handler := &warnings{warn: warn, said: map[string]bool{}}
	f.flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.UserAgent, config.WarningHandler = "pequod/"+version.Program(), handler
		limitRequests(config)
		return config
	}
	config, err := f.flags.ToRESTConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	if f.isGuess(config, &raw) {
		return nil, noKubeconfig(&raw)
	}
	return config, nil
}

// Cluster returns the name of the selected cluster for readers: the context, or the server if
// none is named. It sends no request.
func (f *ConnectionFlags) Cluster() string {
	if *f.flags.APIServer != "" {
		return "server " + *f.flags.APIServer
	}
	raw, err := f.flags.ToRawKubeConfigLoader().RawConfig()
	if name := cmp.Or(*f.flags.Context, raw.CurrentContext); err == nil && name != "" {
		return "context " + name
	}
	return "the cluster"
}

// isGuess reports whether config is the server on localhost:8080 that kubectl
// tries if nothing names a cluster. An error about that server would hide the cause.
func (f *ConnectionFlags) isGuess(config *rest.Config, raw *clientcmdapi.Config) bool {
	if config.Host != clientcmd.ClusterDefaults.Server || *f.flags.APIServer != "" || os.Getenv("KUBERNETES_MASTER") != "" {
		return false
	}
	for _, cluster := range raw.Clusters {
		if cluster.Server == config.Host {
			return false
		}
	}
	return true
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

// connectionUsage are the descriptions of the connection flags in the style of
// pequod's other flags. A flag that is missing here keeps kubectl's description.
var connectionUsage = map[string]string{
	"as":                       "username to impersonate; may be a service account: system:serviceaccount:NAMESPACE:NAME",
	"as-group":                 "group to impersonate; requires --as; can be repeated",
	"as-uid":                   "UID to impersonate; requires --as",
	"as-user-extra":            "extra field of the impersonated user, as KEY=VALUE; requires --as; can be repeated",
	"cache-dir":                "directory of kubectl's cache of API discovery (default: $KUBECACHEDIR, or ~/.kube/cache)",
	"certificate-authority":    "path to the certificate of the API server's authority",
	"client-certificate":       "path to a client certificate file for TLS",
	"client-key":               "path to a client key file for TLS",
	"cluster":                  "name of the kubeconfig cluster to use",
	"context":                  "name of the kubeconfig context to use",
	"disable-compression":      "don't ask the API server to compress its responses",
	"insecure-skip-tls-verify": "don't check the certificate of the API server; this makes HTTPS connections insecure",
	"kubeconfig":               "path to the kubeconfig file (default: $KUBECONFIG, or ~/.kube/config)",
	"proxy-url":                "URL of the proxy to use for requests to the API server",
	"request-timeout":          "time limit of a single request, such as 5s, except for watches; 0 means 30s, which is also the maximum",
	"server":                   "address and port of the API server",
	"tls-server-name":          "server name to check the certificate of the API server with (default: its host name)",
	"token":                    "bearer token for authentication to the API server",
	"user":                     "name of the kubeconfig user to use",
}

// fileFlags are the connection flags that name files; shells complete their values.
var fileFlags = []string{"cache-dir", "certificate-authority", "client-certificate", "client-key", "kubeconfig"}
