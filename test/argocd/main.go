// Command argocd runs Argo CD's server of config management plugins, and speaks its protocol
// as the repo server does.
//
//	argocd server [FLAG ...]
//	argocd render REPOSITORY DIRECTORY [NAME=VALUE ...]
//
// Render looks for a plugin for the directory, sends the repository to it, and prints the
// answers as JSON. The variables are those of the Application's build environment; PARAM.NAME
// is a parameter of the plugin. Both find the socket in $ARGOCD_PLUGINSOCKFILEPATH.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/app/discovery"
	"github.com/argoproj/argo-cd/v3/util/cmp"
)

func main() {
	var err error
	if os.Args[1] == "server" {
		server := commands.NewCommand()
		server.SetArgs(os.Args[2:])
		err = server.Execute()
	} else {
		err = render(os.Stdout, os.Args[2], os.Args[3], os.Args[4:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// environment returns the variables that the plugin gets.
func environment(variables []string) ([]string, error) {
	var env []string
	var parameters v1alpha1.ApplicationSourcePluginParameters
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if name, ok := strings.CutPrefix(name, "PARAM."); ok {
			parameters = append(parameters, v1alpha1.ApplicationSourcePluginParameter{Name: name, String_: &value})
		} else {
			env = append(env, v)
		}
	}
	more, err := parameters.Environ()
	return append(env, more...), err
}

func render(out io.Writer, repository, directory string, variables []string) error {
	ctx := context.Background()
	env, err := environment(variables)
	if err != nil {
		return err
	}
	directory = filepath.Join(repository, directory)
	conn, client, err := discovery.DetectConfigManagementPlugin(ctx, directory, repository, "", env, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	announced, err := client.GetParametersAnnouncement(ctx)
	if err != nil {
		return err
	}
	if err := cmp.SendRepoStream(ctx, directory, repository, announced, env, nil); err != nil {
		return err
	}
	parameters, err := announced.CloseAndRecv()
	if err != nil {
		return err
	}
	generated, err := client.GenerateManifest(ctx)
	if err != nil {
		return err
	}
	if err := cmp.SendRepoStream(ctx, directory, repository, generated, env, nil); err != nil {
		return err
	}
	manifests, err := generated.CloseAndRecv()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(struct {
		Parameters *apiclient.ParametersAnnouncementResponse
		Manifests  []string
	}{parameters, manifests.Manifests})
}
