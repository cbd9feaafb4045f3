package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// configEntry is an entry in the output of `pequod config view -o json`. Its fields
// only grow: scripts may rely on those that exist.
type configEntry struct {
	// Command is the command whose setting this is. It is empty for a setting that
	// all other commands with the key share.
	Command string `json:"command,omitempty"`
	Key     string `json:"key"`
	// Value is a ruleValue for a rule of verify, a list of strings for other keys that are
	// lists, and a string otherwise.
	Value any `json:"value"`
	// Source is default, file, environment or flag. At is the place in the source:
	// file:line:column, the name of a variable, or a flag. It is empty for defaults.
	Source settings.Source `json:"source"`
	At     string          `json:"at,omitempty"`
}

// secretKeys are the flags whose values are credentials. Their values are not shown.
// The URL of a proxy may contain a password.
var secretKeys = []string{"password", "proxy-url", "token"}

// newConfigCommand returns the group of commands about settings.
func newConfigCommand(env command.Env) *cobra.Command {
	return command.NewGroup("config", "Inspect the settings of pequod.yaml, config.yaml and the environment", newConfigViewCommand(env))
}

// newConfigViewCommand returns the command "config view".
func newConfigViewCommand(env command.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "view [-o yaml|json] [COMMAND [FLAGS]]",
		Short: "Print the effective settings and their origin",
		Long: `Print the effective value of every flag, and its origin: a file with line and
column, an environment variable, the command line, or the built-in default.

Rules about modules, allow-modules and verify, have a row for each file and each rule,
because all of them hold together.

Without COMMAND, a row without the name of a command holds for all commands that
have the flag, except for those with a row of their own. With COMMAND, only the
settings of this command are printed, as they would be with the given FLAGS. The
command isn't run. Credentials are not printed.`,
		Example: `  # All settings
  pequod config view

  # The platforms that this call of render would use, and who set them
  pequod config view render -f app.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			layers, err := settings.Load(cmd.Root(), env)
			if err != nil {
				return err
			}
			var entries []configEntry
			if len(args) == 0 {
				entries, err = allSettings(cmd.Root(), layers)
			} else {
				entries, err = settingsOf(cmd.Root(), layers, args)
			}
			if err == nil && (len(args) == 0 || usesRegistries(cmd.Root(), args)) {
				entries, err = withRules(entries, env)
			}
			if err != nil {
				return err
			}
			if format != "" {
				return command.OutputError(output.Write(env.Out, format, entries))
			}
			return command.OutputError(writeSettings(env, entries))
		},
	}
	// What follows COMMAND are its flags.
	cmd.Flags().SetInterspersed(false)
	command.Choice(cmd, &format, "output", "o", "", []string{"json", "yaml"}, "output format: json or yaml")
	return cmd
}

// settingsOf returns the settings of one call of a command, args[0] and its
// subcommands, with the flags in args.
func settingsOf(root *cobra.Command, layers *settings.Layers, args []string) ([]configEntry, error) {
	target, rest, err := root.Find(args)
	if err != nil {
		return nil, err
	}
	if target == root {
		return nil, fmt.Errorf("unknown command %q; see '%s --help'", args[0], root.Name())
	}
	if target.HasSubCommands() || !settings.TakesSettings(target) {
		return nil, fmt.Errorf("%q takes no settings", target.CommandPath())
	}
	if err := target.ParseFlags(rest); err != nil {
		return nil, target.FlagErrorFunc()(target, err)
	}
	values, err := layers.Resolve(target)
	if err != nil {
		return nil, err
	}
	var entries []configEntry
	for _, v := range values {
		entries = append(entries, entryOf("", v))
	}
	return entries, nil
}

// allSettings returns the settings of all commands, sorted by key. For each key,
// the setting that most commands share comes first and names no command.
func allSettings(root *cobra.Command, layers *settings.Layers) ([]configEntry, error) {
	// The entries of a key in the order of the commands, without their commands.
	byKey := map[string][]configEntry{}
	commands := map[string][]string{}
	var visit func(cmd *cobra.Command) error
	visit = func(cmd *cobra.Command) error {
		if !settings.TakesSettings(cmd) {
			return nil
		}
		values, err := layers.Resolve(cmd)
		for _, v := range values {
			byKey[v.Flag.Name] = append(byKey[v.Flag.Name], entryOf("", v))
			commands[v.Flag.Name] = append(commands[v.Flag.Name], strings.TrimPrefix(cmd.CommandPath(), root.Name()+" "))
		}
		for _, sub := range cmd.Commands() {
			if err == nil {
				err = visit(sub)
			}
		}
		return err
	}
	if err := visit(root); err != nil {
		return nil, err
	}
	var entries []configEntry
	for key, all := range byKey {
		shared := mostFrequent(all)
		entries = append(entries, shared)
		for i, e := range all {
			if !sameEntry(e, shared) {
				e.Command = commands[key][i]
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

// mostFrequent returns the entry that occurs most often, and the first one of
// several.
func mostFrequent(all []configEntry) configEntry {
	most, best := 0, configEntry{}
	for _, e := range all {
		n := 0
		for _, other := range all {
			if sameEntry(e, other) {
				n++
			}
		}
		if n > most {
			most, best = n, e
		}
	}
	return best
}

// sameEntry reports whether two entries for one key have the same value and origin.
func sameEntry(a, b configEntry) bool {
	return a.At == b.At && a.Source == b.Source && showValue(a.Value) == showValue(b.Value)
}

// entryOf returns the entry for the value of a flag. Values that are credentials are
// replaced.
func entryOf(command string, v settings.Value) configEntry {
	e := configEntry{Command: command, Key: v.Flag.Name, Value: v.Flag.Value.String(), Source: v.Source, At: v.At}
	if list, ok := v.Flag.Value.(pflag.SliceValue); ok {
		e.Value = append([]string{}, list.GetSlice()...)
	}
	if v.Source != settings.FromDefault && slices.Contains(secretKeys, v.Flag.Name) {
		e.Value = "REDACTED"
	}
	return e
}

// writeSettings prints a table. The key of a setting of one command has the name of
// the command in front, as the section in pequod.yaml would.
func writeSettings(env command.Env, entries []configEntry) error {
	var rows [][]string
	for _, e := range entries {
		key, origin := e.Key, e.At
		if e.Command != "" {
			key = e.Command + ": " + key
		}
		if origin == "" {
			origin = string(e.Source)
		}
		rows = append(rows, []string{key, source.Escape(showValue(e.Value), ""), source.Escape(origin, "")})
	}
	_, err := io.WriteString(env.Out, style.Table([]string{"KEY", "VALUE", "ORIGIN"}, rows, style.TerminalWidth(env.Out)))
	return err
}

// showValue returns the value of an entry in one line: the items of a list with
// commas in between, and "-" for nothing.
func showValue(value any) string {
	text := fmt.Sprint(value)
	if list, ok := value.([]string); ok {
		text = strings.Join(list, ",")
	}
	if text == "" {
		return "-"
	}
	return text
}
