// Package settings fills in the flags that were not set on the command line, from
// the environment and from the file pequod.yaml. [Apply] is its entry point.
//
// The order is: command line, environment (PEQUOD_ and the flag's name in upper
// case), the section of the command in pequod.yaml, the top level of pequod.yaml,
// built-in default. The values live in the pflag.FlagSet of the command, so
// commands don't know where a value came from.
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
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/source"
)

// FileName is the name of the configuration file. The first one found in the
// working directory or a directory above it is used.
const FileName = "pequod.yaml"

// pathFlags are the flags that name files. Their values in pequod.yaml are
// relative to the directory of that file, not to the working directory. Values
// from the environment are relative to the working directory, as on the command
// line.
var pathFlags = []string{"platform", "policy", "filename", "output-dir", "crd", "kubeconfig"}

// Apply sets every flag of cmd that is not set on the command line and has a
// value in the environment or in pequod.yaml. It must run after the flags are
// parsed, and before the command looks at them.
//
// Flags that it sets count as unchanged for pflag's Changed, so a command can
// tell an explicit flag from a default. An empty environment variable counts as
// unset. The whole file is checked, also the sections of other commands. The
// first error ends Apply, and some flags may be set by then.
func Apply(cmd *cobra.Command, env command.Env) error {
	if !takesConfig(cmd) {
		return nil
	}
	file, err := findConfig()
	if err != nil {
		return err
	}
	settings, err := readConfig(file, cmd.Root())
	if err != nil {
		return err
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || failed != nil {
			return
		}
		variable := "PEQUOD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v, ok := env.Getenv(variable); ok && v != "" {
			failed = setFlag(f, splitList(f, v), variable)
			return
		}
		// The section of the command wins over the top level, which has key "".
		for _, in := range []string{commandKey(cmd), ""} {
			if set, ok := settings[in+"\x00"+f.Name]; ok {
				failed = setFlag(f, set.values, set.at)
				return
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

// findConfig returns the path of pequod.yaml in the working directory or the
// nearest directory above it. It returns "" if there is no such file. Errors of
// Stat count as a missing file: an unreadable directory above the project must
// not break every command.
func findConfig() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		file := filepath.Join(dir, FileName)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
		dir = filepath.Dir(dir)
	}
}

// setting is the value of one flag in pequod.yaml.
type setting struct {
	// values has one item for a flag that is not a list.
	values []string
	// at is the position of the value: file:line:column.
	at string
}

// readConfig reads pequod.yaml. Its keys are names of flags, for all commands, or
// names of commands with a mapping of flags for that command. The keys of the
// result are COMMAND, a zero byte and FLAG; COMMAND is empty for the top level.
// An empty file name means that there is no file.
func readConfig(file string, root *cobra.Command) (map[string]setting, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, command.FileError(err)
	}
	c := &configReader{file: shownPath(file), dir: filepath.Dir(file), settings: map[string]setting{}}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlError(c.file, err)
	}
	if dec.Decode(new(yaml.Node)) != io.EOF {
		return nil, fmt.Errorf("%s: more than one document", c.file)
	}
	return c.settings, c.mapping(doc.Content[0], "", flagsOf(root), commandsOf(root))
}

// yamlError adds the position to a syntax error of the YAML library. The library
// writes "line N: " in front of its message, and leaves it out for line 1.
func yamlError(file string, err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	line := "1"
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		line, msg, _ = strings.Cut(rest, ": ")
	}
	return fmt.Errorf("%s:%s:1: not YAML: %s", file, line, msg)
}

// configReader collects the settings of one file.
type configReader struct {
	file     string             // as shown in errors
	dir      string             // that relative paths in the file start from
	settings map[string]setting // keyed as in the result of readConfig
}

// mapping reads one level of the file into c.settings: the top level (command is
// "") or the section of a command. flags and commands are the known keys; a
// section has no sections, so commands is nil there. An empty section is allowed.
// Unknown and repeated keys are errors.
func (c *configReader) mapping(n *yaml.Node, command string, flags map[string]*pflag.Flag, commands map[string]*cobra.Command) error {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: must be a mapping", c.at(n))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		// A name may be both a command and a flag, such as "validate". Only a mapping
		// is the section of a command.
		if sub, ok := commands[k.Value]; ok && v.Kind == yaml.MappingNode {
			own := map[string]*pflag.Flag{}
			sub.Flags().VisitAll(func(f *pflag.Flag) { own[f.Name] = f })
			if err := c.mapping(v, k.Value, own, nil); err != nil {
				return err
			}
			continue
		}
		f, ok := flags[k.Value]
		if !ok {
			return fmt.Errorf("%s: unknown key %q%s", c.at(k), k.Value, hintOf(k.Value, flags, commands))
		}
		key := command + "\x00" + k.Value
		if _, dup := c.settings[key]; dup {
			return fmt.Errorf("%s: key %q given twice", c.at(k), k.Value)
		}
		values, err := c.values(v, f)
		if err != nil {
			return err
		}
		if slices.Contains(pathFlags, f.Name) {
			for i := range values {
				values[i] = c.path(values[i])
			}
		}
		c.settings[key] = setting{values, c.at(v)}
	}
	return nil
}

// values returns the scalars of v, which is a list only if f is one. A single
// scalar is accepted for a list, too. null is an error, because it is no value
// that a flag could have.
func (c *configReader) values(v *yaml.Node, f *pflag.Flag) ([]string, error) {
	items := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode && isList(f) {
		items = v.Content
	}
	var values []string
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" {
			return nil, fmt.Errorf("%s: %s must be %s", c.at(item), f.Name, valueWord(f))
		}
		values = append(values, item.Value)
	}
	return values, nil
}

// valueWord returns the description of the values that f takes, for errors.
func valueWord(f *pflag.Flag) string {
	if isList(f) {
		return "a list of strings"
	}
	return "one value"
}

// at returns the position of n for messages: file:line:column.
func (c *configReader) at(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", c.file, n.Line, n.Column)
}

// path turns a path relative to pequod.yaml into one relative to the working
// directory. It returns stdin, absolute paths, URLs and references to embedded
// modules as they are.
func (c *configReader) path(v string) string {
	if v == "-" || filepath.IsAbs(v) || strings.Contains(v, "://") || strings.Contains(v, "::") || strings.HasPrefix(v, "embedded:") {
		return v
	}
	return shownPath(filepath.Join(c.dir, v))
}

// shownPath returns file relative to the working directory if that is possible;
// it is not possible between drives on Windows.
func shownPath(file string) string {
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(dir, file); err == nil {
		return rel
	}
	return file
}

// commandKey returns the name of a command in pequod.yaml: its path without the
// name of the program, as in "crd generate".
func commandKey(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), " ")
}

// commandsOf returns all commands below root by their keys, such as "apply" and
// "crd generate". Groups such as "crd" are included.
func commandsOf(root *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			all[commandKey(sub)] = sub
			visit(sub)
		}
	}
	visit(root)
	return all
}

// flagsOf returns the flags of all commands below root by name. Of flags that
// several commands have, it returns one; they agree in whether they are lists.
func flagsOf(root *cobra.Command) map[string]*pflag.Flag {
	all := map[string]*pflag.Flag{}
	for _, c := range commandsOf(root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				all[f.Name] = f
			}
		})
	}
	return all
}

// hintOf returns a suggestion for an unknown key, "" if no known one is similar.
// The known keys are sorted, so that equally similar ones give the same hint
// every time.
func hintOf(name string, flags map[string]*pflag.Flag, commands map[string]*cobra.Command) string {
	var known []string
	for k := range flags {
		known = append(known, k)
	}
	for k := range commands {
		known = append(known, k)
	}
	slices.Sort(known)
	if n := source.Nearest(name, known); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
