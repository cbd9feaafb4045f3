// Package settings fills in the flags that were not set on the command line, from
// the environment and from two files pequod.yaml. [Apply] is its entry point.
//
// The order is: command line, environment (PEQUOD_ and the flag's name in upper
// case), the pequod.yaml of the repository, that of the user, built-in default.
// Within a file, the section of the command wins over the top level. The values
// live in the pflag.FlagSet of the command, so commands don't know where a value
// came from.
//
// The two files are trusted differently. The file of the user, below
// $XDG_CONFIG_HOME, may set every flag. The file of a repository may come from
// another person, such as the author of a pull request. It may set only the flags for
// input and printing (see repositoryFlags), and its paths must
// stay in the repository (see repository).
//
// An example of pequod.yaml:
//
//	platform: [platforms/]      # all commands with -p
//	eval-timeout: 30s
//	crd generate:               # only pequod crd generate
//	  output-dir: crds
//
// With it, PEQUOD_EVAL_TIMEOUT=1m makes the limit one minute, and --eval-timeout
// 5s wins over both.
//
// The package reads YAML nodes instead of using viper: it reports unknown keys
// with a hint, and every error has a line and a column.
package settings

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
)

// Apply sets every flag of cmd that is not set on the command line and has a
// value in the environment or in a pequod.yaml. It must run after the flags are
// parsed, and before the command looks at them.
//
// Flags that it sets count as unchanged for pflag's Changed, so a command can
// tell an explicit flag from a default. An empty environment variable counts as
// unset. Files are checked as a whole, also the sections of other commands. The
// first error ends Apply, and some flags may be set by then.
func Apply(cmd *cobra.Command, env command.Env) error {
	if !takesConfig(cmd) {
		return nil
	}
	files, err := configFiles(env)
	if err != nil {
		return err
	}
	var settings []map[string]setting
	for _, file := range files {
		values, err := readConfig(file, cmd.Root())
		if err != nil {
			return err
		}
		settings = append(settings, values)
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || failed != nil {
			return
		}
		variable := variableOf(f)
		if v, ok := env.Getenv(variable); ok && v != "" {
			failed = setFlag(f, splitList(f, v), variable)
			return
		}
		for _, file := range settings {
			// The section of the command wins over the top level, which has key "".
			for _, in := range []string{commandKey(cmd), ""} {
				if set, ok := file[in+"\x00"+f.Name]; ok {
					failed = setFlag(f, set.values, set.at)
					return
				}
			}
		}
	})
	return failed
}

// takesConfig reports whether settings apply to cmd. They don't apply to cobra's
// own commands, which must work even if pequod.yaml is broken.
func takesConfig(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		switch c.Name() {
		case "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			return false
		}
	}
	return true
}

// splitList splits v at commas if f is a list, and returns it whole otherwise. It
// is for the environment, which has no lists of its own.
func splitList(f *pflag.Flag, v string) []string {
	if isList(f) {
		return strings.Split(v, ",")
	}
	return []string{v}
}

// isList reports whether f can be repeated. pflag's types for that implement
// pflag.SliceValue.
func isList(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}

// setFlag sets f without marking it as changed. A list replaces the default
// instead of being appended to it. source begins the error message: a variable or
// a position in the file.
func setFlag(f *pflag.Flag, values []string, source string) error {
	if l, ok := f.Value.(pflag.SliceValue); ok {
		return l.Replace(values)
	}
	if len(values) != 1 {
		return fmt.Errorf("%s: takes one value", source)
	}
	if err := f.Value.Set(values[0]); err != nil {
		return fmt.Errorf("%s: %s: %q is not a %s", source, f.Name, values[0], f.Value.Type())
	}
	return nil
}
