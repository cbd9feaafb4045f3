package kube

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// FollowContext removes the default of the flag --namespace of cmd, for commands whose namespace
// is that of the kubeconfig's context unless the flag or a setting names another one. See
// [ConnectionFlags.DefaultNamespace].
func FollowContext(cmd *cobra.Command) {
	flag := cmd.Flags().Lookup("namespace")
	command.Must(flag.Value.Set(""))
	flag.DefValue = ""
	flag.Usage += " (default: that of the kubeconfig's context)"
}

// DefaultNamespace sets an empty namespace to that of the kubeconfig's context, as kubectl
// chooses it. It sends no request. A kubeconfig that can't be read is the error of Connect.
func (f *ConnectionFlags) DefaultNamespace(namespace *string) {
	if *namespace == "" {
		of, _, _ := f.flags.ToRawKubeConfigLoader().Namespace()
		*namespace = cmp.Or(of, "default")
	}
}

// ResourceName returns the name of an object as kubectl prints it when it changes
// one: KIND[.GROUP]/NAME, such as "deployment.apps/web".
func ResourceName(group, kind, name string) string {
	resource := strings.ToLower(kind)
	if group != "" {
		resource += "." + group
	}
	return resource + "/" + name
}
