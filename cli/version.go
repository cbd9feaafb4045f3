package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/version"
)

// versionInfo is the output of `pequod version -o json`. Its fields only grow:
// scripts may rely on those that exist.
type versionInfo struct {
	Version string `json:"version"`
	// Commit is empty if the build had no access to the repository.
	Commit    string `json:"commit,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// CUE and Kubernetes are the versions of the linked libraries: the one that
	// evaluates modules, and the one that validates CRDs.
	CUE        string `json:"cue"`
	Kubernetes string `json:"kubernetes"`
}

// newVersionCommand returns the command "version". It describes the program alone
// and connects to no cluster. Without -o, it prints one line.
func newVersionCommand(env command.Env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := buildVersion()
			if output == "" {
				_, err := fmt.Fprintf(env.Out, "pequod %s (CUE %s, Kubernetes API %s, %s %s)\n",
					info.Version, info.CUE, info.Kubernetes, info.GoVersion, info.Platform)
				return command.OutputError(err)
			}
			data, err := encodeVersion(output, info)
			if err != nil {
				return err
			}
			_, err = env.Out.Write(data)
			return command.OutputError(err)
		},
	}
	command.Choice(cmd, &output, "output", "o", "", []string{"json", "yaml"}, "output format: json or yaml")
	return cmd
}

// encodeVersion returns info as YAML or JSON. JSON has the fields in their order
// here, unlike the sorted keys of objects.
func encodeVersion(format string, info versionInfo) ([]byte, error) {
	if format == "yaml" {
		return output.Encode("yaml", info, "")
	}
	data, err := json.MarshalIndent(info, "", "  ")
	return append(data, '\n'), err
}

// buildVersion reads the versions that the Go linker recorded in the program. A
// binary without module information has "unknown" versions.
func buildVersion() versionInfo {
	v := versionInfo{
		Version: version.Program(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CUE: "unknown", Kubernetes: "unknown",
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "cuelang.org/go":
			v.CUE = m.Version
		case "k8s.io/apiextensions-apiserver":
			v.Kubernetes = m.Version
		}
	}
	return v
}
