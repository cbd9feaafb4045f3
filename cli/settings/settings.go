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

// configFile is looked for in the working directory and above it.
const FileName = "pequod.yaml"

// flags that name files: in pequod.yaml they are relative to its directory.
var pathFlags = []string{"platform", "policy", "filename", "output-dir", "crd", "kubeconfig"}

// configure gives every flag that wasn't set on the command line the value that
// the environment or pequod.yaml has for it. pflag keeps the values; this
// package reads nothing else. (viper would do the same, without the file's
// positions and without telling unknown keys.)
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
		for _, in := range []string{commandKey(cmd), ""} {
			if set, ok := settings[in+"\x00"+f.Name]; ok {
				failed = setFlag(f, set.values, set.at)
				return
			}
		}
	})
	return failed
}

// takesConfig tells the commands of pequod from cobra's own, which work whatever
// the file says.
func takesConfig(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		switch c.Name() {
		case "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			return false
		}
	}
	return true
}

// splitList takes a list apart at commas where the flag may be repeated.
func splitList(f *pflag.Flag, v string) []string {
	if isList(f) {
		return strings.Split(v, ",")
	}
	return []string{v}
}

func isList(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}

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

// setting is what pequod.yaml says of one flag.
type setting struct {
	values []string
	at     string
}

// readConfig reads pequod.yaml: flags by name, and under the name of a command
// those that are for it alone. Keys of the result are COMMAND, a zero byte, FLAG.
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

// yamlError places an error of the YAML library, which leaves out the line of
// what is wrong on the first.
func yamlError(file string, err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	line := "1"
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		line, msg, _ = strings.Cut(rest, ": ")
	}
	return fmt.Errorf("%s:%s:1: not YAML: %s", file, line, msg)
}

type configReader struct {
	file, dir string
	settings  map[string]setting
}

func (c *configReader) mapping(n *yaml.Node, command string, flags map[string]*pflag.Flag, commands map[string]*cobra.Command) error {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: must be a mapping", c.at(n))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
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

func valueWord(f *pflag.Flag) string {
	if isList(f) {
		return "a list of strings"
	}
	return "one value"
}

func (c *configReader) at(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", c.file, n.Line, n.Column)
}

// path makes a file that pequod.yaml names relative to the working directory.
func (c *configReader) path(v string) string {
	if v == "-" || filepath.IsAbs(v) || strings.Contains(v, "://") || strings.Contains(v, "::") || strings.HasPrefix(v, "embedded:") {
		return v
	}
	return shownPath(filepath.Join(c.dir, v))
}

// shownPath gives a path relative to the working directory where that is
// possible without leaving the file system's tree.
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

// commandKey is a command's name in pequod.yaml: its path without the program's
// name, as in "crd generate".
func commandKey(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), " ")
}

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
