// Package settings fills in the flags that were not set on the command line, from
// the environment and from two files. [Apply] is its entry point; [Load] and
// [Layers.Resolve] also return where each value came from.
//
// The order is: command line, environment (PEQUOD_ and the flag's name in upper
// case), the pequod.yaml of the repository, the user's config.yaml, built-in
// default. Within a file, the section of the command wins over the top level. The
// values live in the pflag.FlagSet of the command, so commands don't know where a
// value came from.
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
// Two keys at the top level are no flags: allow-modules and verify decide which published
// modules may be used. [Rules] reads them. They apply in addition to those of other files.
//
// Three parties share the work. readConfig reads a file strictly: unknown keys and
// wrong types are errors with a line and a column. viper decides which layer wins
// (see Layers.viper). pflag parses the winning value. viper reads no file and
// converts no value here, because it has no positions, folds the case of keys, and
// takes what it cannot convert for zero.
package settings

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
)

// Apply sets every flag of cmd that is not set on the command line and has a
// value in the environment or in a file. It must run after the flags are
// parsed, and before the command looks at them.
//
// Flags that it sets count as unchanged for pflag's Changed, so a command can
// tell an explicit flag from a default. An empty environment variable counts as
// unset. Files are checked as a whole, also the sections of other commands. The
// first error ends Apply, and some flags may be set by then.
func Apply(cmd *cobra.Command, env command.Env) error {
	if !TakesSettings(cmd) {
		return nil
	}
	layers, err := Load(cmd.Root(), env)
	if err != nil {
		return err
	}
	_, err = layers.Resolve(cmd)
	return err
}

// TakesSettings reports whether settings apply to cmd. They don't apply to cobra's
// own commands, which must work even if a file is broken, nor to the command
// "config", which must show the settings of other commands whatever they are.
func TakesSettings(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		switch c.Name() {
		case "help", "completion", "config", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
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

// valuesOf returns the values of f as text: one, or any number if f is a list.
func valuesOf(f *pflag.Flag) []string {
	if l, ok := f.Value.(pflag.SliceValue); ok {
		return l.GetSlice()
	}
	return []string{f.Value.String()}
}

// setFlag sets f without marking it as changed. A list replaces the default
// instead of being appended to it. source begins the error message: a variable or
// a position in the file.
func setFlag(f *pflag.Flag, values []string, source string) error {
	if l, ok := f.Value.(pflag.SliceValue); ok {
		return l.Replace(values)
	}
	if err := f.Value.Set(values[0]); err != nil {
		return fmt.Errorf("%s: %s: %q is not a %s", source, f.Name, values[0], f.Value.Type())
	}
	return nil
}

// checkType returns the error of setFlag, and leaves f as it is.
func checkType(f *pflag.Flag, values []string, source string) error {
	before := valuesOf(f)
	if err := setFlag(f, values, source); err != nil {
		return err
	}
	return setFlag(f, before, source)
}
