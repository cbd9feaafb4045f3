package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/trust"
)

// setting is the value of one flag in a file, or its built-in default.
type setting struct {
	// values has one item for a flag that is not a list.
	values []string
	// at is the position of the value: file:line:column. It is empty for defaults.
	at string
}

// readConfig reads a configuration file. Its keys are names of flags, for all commands, or
// names of commands with a mapping of flags for that command. The keys of the
// result are COMMAND, a zero byte and FLAG; COMMAND is empty for the top level.
func readConfig(file configFile, root *cobra.Command) (map[string]setting, error) {
	data, err := os.ReadFile(file.path)
	if err != nil {
		return nil, command.FileError(err)
	}
	c := &configReader{file: shownPath(file.path), from: file, commands: commandsOf(root), settings: map[string]setting{}}
	doc, err := parse(c.file, data)
	if err != nil || doc == nil {
		return nil, err
	}
	return c.settings, c.mapping(doc, "", flagsOf(root), c.commands)
}

// parse returns the only document of a file, or nil if it is empty. file is its name in
// messages.
func parse(file string, data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlError(file, err)
	}
	if dec.Decode(new(yaml.Node)) != io.EOF {
		return nil, fmt.Errorf("%s: more than one document", file)
	}
	return doc.Content[0], nil
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
	file     string     // as shown in errors
	from     configFile // the origin, which decides what the file may set
	commands map[string]*cobra.Command
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
	if n.Kind != yaml.MappingNode && command != "" {
		return fmt.Errorf("%s: %s is a command: its value must be a mapping of flags", c.at(n), command)
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: must be a mapping", c.at(n))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if command == "" && isRule(k.Value) {
			if err := c.rule(&trust.Rules{}, k, v); err != nil {
				return err
			}
			continue
		}
		// A name may be both a command and a flag, such as "validate". Then only a mapping
		// is the section of the command.
		f, isFlag := flags[k.Value]
		if sub, ok := commands[k.Value]; ok && (v.Kind == yaml.MappingNode || !isFlag) {
			own := map[string]*pflag.Flag{}
			sub.Flags().VisitAll(func(f *pflag.Flag) { own[f.Name] = f })
			if err := c.mapping(v, k.Value, own, nil); err != nil {
				return err
			}
			continue
		}
		if sub := command + " " + k.Value; !isFlag && c.commands[sub] != nil {
			return fmt.Errorf("%s: unknown key %q; the settings of the command are at the top level: %s: {…}", c.at(k), k.Value, sub)
		}
		if !isFlag {
			return fmt.Errorf("%s: unknown key %q%s", c.at(k), k.Value, hintOf(k.Value, flags, commands))
		}
		if c.from.repository != "" && !slices.Contains(repositoryFlags, f.Name) {
			return fmt.Errorf("%s: %s can't be set by the pequod.yaml of a repository; use --%s, %s or %s",
				c.at(k), f.Name, f.Name, variableOf(f), userConfig)
		}
		key := command + "\x00" + k.Value
		if _, dup := c.settings[key]; dup {
			return fmt.Errorf("%s: key %q given twice", c.at(k), k.Value)
		}
		values, err := c.values(v, f)
		if err != nil {
			return err
		}
		if err := checkType(f, values, c.at(v)); err != nil {
			return err
		}
		c.settings[key] = setting{values, c.at(v)}
	}
	return nil
}

// values returns the scalars of v, which is a list only if f is one, with paths
// resolved. A single scalar is accepted for a list, too. null is an error, because it is no value
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
		value := item.Value
		if slices.Contains(pathFlags, f.Name) {
			var err error
			if value, err = c.path(value); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.at(item), f.Name, err)
			}
		}
		values = append(values, value)
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
// directory, also that of REV:PATH. It returns stdin, URLs and references to embedded
// modules as they are. Paths in the file of a repository must stay in the repository.
func (c *configReader) path(v string) (string, error) {
	if v == "-" || strings.Contains(v, "://") || strings.Contains(v, "::") || strings.HasPrefix(v, "embedded:") {
		return v, nil
	}
	file := v
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(c.from.path), v)
	}
	if rev, inRev, ok := gitfs.Cut(v); ok {
		if _, err := os.Lstat(file); err != nil {
			shown, err := c.path("./" + inRev)
			return rev + ":" + filepath.ToSlash(shown), err
		}
	}
	if c.from.repository != "" && !inside(c.from.repository, file) {
		return "", fmt.Errorf("%q leads out of the repository", v)
	}
	if filepath.IsAbs(v) {
		return v, nil
	}
	return shownPath(file), nil
}

// shownPath returns file relative to the working directory if that is possible;
// it is not possible between drives on Windows. The working directory may be known by a
// link, but the system follows ".." from where the link leads.
func shownPath(file string) string {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
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

// commandsOf returns the commands below root that take settings by their keys, such
// as "apply" and "crd generate". Groups such as "crd" are included.
func commandsOf(root *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if TakesSettings(sub) {
				all[commandKey(sub)] = sub
				visit(sub)
			}
		}
	}
	visit(root)
	return all
}

// flagsOf returns the flags of all commands below root by name. Of flags that
// several commands have, it returns that of the first command; they agree in type.
func flagsOf(root *cobra.Command) map[string]*pflag.Flag {
	all := map[string]*pflag.Flag{}
	commands := commandsOf(root)
	for _, key := range slices.Sorted(maps.Keys(commands)) {
		commands[key].Flags().VisitAll(func(f *pflag.Flag) {
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
