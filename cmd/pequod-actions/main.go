// Command pequod-actions executes Actions, Monitors and Receivers in the cluster in which it runs:
// runs outside of the cluster, such as requests to HTTP APIs, polls of applications with reactions,
// and messages from outside.
//
//	pequod-actions --leader-elect --allow-egress=api.example.com --receiver-addr=:9292
//
// This file has the flags that only this program has; serve.go starts the controllers of
// packages actions/action, actions/monitor and actions/receiver.
//
// Non-goals: this package has no logic about Actions, Monitors and Receivers.
package main

import (
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/mod/semver"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor/terraform/runner"
	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/internal/version"
)

// name is the name of the program.
const name = "pequod-actions"

// options are the values of the program's own flags.
type options struct {
	allow      []string
	allowed    egress.Allowed
	networks   []string
	pods       egress.Allowed
	exec       bool
	runner     string
	concurrent int
	receivers  receivers
	history    historyOptions
	exports    exportOptions
}

// program returns the program, whose flags set o.
func (o *options) program() incluster.Program {
	return incluster.Program{
		Name: name, About: "Execute Actions, Monitors and Receivers in the cluster.", Graphless: true,
		AddFlags: func(fs *pflag.FlagSet, _ *incluster.Settings) {
			fs.StringSliceVar(&o.allow, "allow-egress", nil,
				"hosts that Actions and Monitors may connect to: api.example.com, *.example.com, * for all public addresses, or networks such as 10.0.0.0/8 for addresses that aren't public; http://HOST also without TLS; default: none")
			fs.StringSliceVar(&o.networks, "monitor-networks", nil,
				"networks of the Pods that Monitors may read, such as 10.244.0.0/16; default: none")
			fs.BoolVar(&o.exec, "enable-exec", false, "let Monitors run commands in containers, as their service accounts")
			fs.StringVar(&o.runner, "runner-image", releasedImage(),
				"image of this program, which Jobs of the executor terraform copy; a program that isn't a release has no default")
			fs.IntVar(&o.concurrent, "concurrent", 8, "number of Actions, and of Monitors, that are processed at the same time")
			o.receivers.addFlags(fs)
			o.history.addFlags(fs)
			o.exports.addFlags(fs)
		},
		Check: o.check,
		Serve: o.serve,
	}
}

// releasedImage returns the image of a release, or "" if this program isn't one.
func releasedImage() string {
	v := version.Program()
	if semver.Prerelease(v) != "" || !semver.IsValid(v) {
		return ""
	}
	return "ghcr.io/pequod-io/pequod-actions:" + v
}

func main() {
	// In the Pods of the executor terraform, the program is the one that runs OpenTofu.
	if args := os.Args[1:]; len(args) > 0 && args[0] == runner.Command {
		os.Exit(runner.Main(args[1:], os.Stderr))
	}
	os.Exit((&options{}).program().Run(os.Args[1:], os.Stdout, os.Stderr))
}
