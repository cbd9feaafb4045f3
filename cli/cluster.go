package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory/stored"
)

// clusterFlags choose a cluster and who talks to it, as kubectl's flags do.
type clusterFlags struct {
	kubeconfig, context, cluster, user string
	as                                 string
	asGroups                           []string
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; by default those of $KUBECONFIG, or ~/.kube/config")
	fl.StringVar(&f.context, "context", "", "context of the kubeconfig to use")
	fl.StringVar(&f.cluster, "cluster", "", "cluster of the kubeconfig to use")
	fl.StringVar(&f.user, "user", "", "user of the kubeconfig to use")
	fl.StringVar(&f.as, "as", "", "user to impersonate")
	fl.StringArrayVar(&f.asGroups, "as-group", nil, "group to impersonate, with --as; repeatable")
	must(cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := f.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}))
	for _, name := range []string{"cluster", "user", "as", "as-group"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

func (f *clusterFlags) loader() clientcmd.ClientConfig {
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
func (f *clusterFlags) config(warn func(string)) (*rest.Config, error) {
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
	config.UserAgent = "pequod/" + programVersion()
	config.WarningHandler = &warnings{warn: warn, said: map[string]bool{}}
	return config, nil
}

// validNames refuses names of a namespace and of graphs in it that can't be any.
func validNames(namespace string, graphs []string) error {
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
func (f *clusterFlags) connect(warn func(string)) (*applier.Applier, error) {
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

// warnTo prints warnings of the API server.
func warnTo(w io.Writer) func(string) {
	return func(text string) { fmt.Fprintln(w, "warning: "+text) }
}

// warnings passes on what the API server warns of, each text once.
type warnings struct {
	mu   sync.Mutex
	warn func(string)
	said map[string]bool
}

// HandleWarningHeader is called for each warning in an answer; 299 is the code
// of those that are meant for people.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code != 299 || text == "" || w.said[text] {
		return
	}
	w.said[text] = true
	w.warn(source.Escape(text, ""))
}

func kubeconfigError(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("no kubeconfig found; name one with --kubeconfig or $KUBECONFIG")
	}
	return fmt.Errorf("kubeconfig: %s", strings.TrimPrefix(ioError(err).Error(), "invalid configuration: "))
}

// clusterError says in one line what is between the user and the cluster: an
// error of the way to it, without the names of Go's packages. Other errors stay
// as they are.
func clusterError(err error) error {
	if apierrors.IsUnauthorized(err) {
		return errors.New("the cluster doesn't accept these credentials (Unauthorized)")
	}
	if way := cluster.Unreachable(err); way != nil {
		return way
	}
	return err
}
