package settings

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/pequod-io/pequod/cli/command"
)

// Source is the kind of place that a value comes from.
type Source string

// The sources, the most important one first.
const (
	FromFlag        Source = "flag"
	FromEnvironment Source = "environment"
	FromFile        Source = "file"
	FromDefault     Source = "default"
)

// Value is the effective value of a flag, and its origin.
type Value struct {
	Flag   *pflag.Flag
	Source Source
	// At is the place in the source: a position in a file, the name of an environment
	// variable, or the flag as it is written on the command line. It is empty for defaults.
	At string
}

// Layers has the settings of the files that apply in the working directory.
type Layers struct {
	// files has the result of readConfig for each file, the most important one first.
	files []map[string]setting
}

// Load reads the files that apply in the working directory. An error in a file has
// its position. root is the root of the command tree, whose commands and flags are
// the valid keys.
func Load(root *cobra.Command, env command.Env) (*Layers, error) {
	files, err := configFiles(env)
	if err != nil {
		return nil, err
	}
	var l Layers
	for _, file := range files {
		settings, err := readConfig(file, root)
		if err != nil {
			return nil, err
		}
		l.files = append(l.files, settings)
	}
	return &l, nil
}

// Resolve sets the flags of cmd as [Apply] does, and returns their values sorted by
// name. The flag --help has no value.
func (l *Layers) Resolve(cmd *cobra.Command) ([]Value, error) {
	v := l.viper(cmd)
	var values []Value
	var failed error
	visitSettable(cmd, func(f *pflag.Flag) {
		value, err := resolve(v, f)
		if err != nil && failed == nil {
			failed = err
		}
		values = append(values, value)
	})
	return values, failed
}

// viper returns the layers of cmd, from built-in defaults to the command line.
// Values of files and defaults have the type setting, which viper passes through,
// so that a value keeps its position.
func (l *Layers) viper(cmd *cobra.Command) *viper.Viper {
	v := viper.New()
	// PEQUOD_EVAL_TIMEOUT is the variable of eval-timeout; see variableOf. viper reads
	// variables from the process, and takes an empty one for unset.
	v.SetEnvPrefix("pequod")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	visitSettable(cmd, func(f *pflag.Flag) {
		v.SetDefault(f.Name, setting{values: valuesOf(f)})
		// The error is that of a nil flag.
		command.Must(v.BindPFlag(f.Name, f))
	})
	// What is merged later wins: the section of a command over the top level of the
	// same file, and the first file over the others.
	for i := len(l.files) - 1; i >= 0; i-- {
		for _, section := range []string{"", commandKey(cmd)} {
			layer := map[string]any{}
			visitSettable(cmd, func(f *pflag.Flag) {
				if s, ok := l.files[i][section+"\x00"+f.Name]; ok {
					layer[f.Name] = s
				}
			})
			// MergeConfigMap has no cause to fail, and returns nil.
			command.Must(v.MergeConfigMap(layer))
		}
	}
	return v
}

// resolve sets f to the value of the layer that wins, if this is not the command
// line or the default.
func resolve(v *viper.Viper, f *pflag.Flag) (Value, error) {
	switch value := v.Get(f.Name).(type) {
	case setting:
		if value.at == "" {
			return Value{f, FromDefault, ""}, nil
		}
		return Value{f, FromFile, value.at}, setFlag(f, value.values, value.at)
	case string:
		if !f.Changed {
			variable := variableOf(f)
			return Value{f, FromEnvironment, variable}, setFlag(f, splitList(f, value), variable)
		}
	}
	// viper has converted the value of a changed flag, but pflag has it already.
	if !f.Changed {
		panic(fmt.Sprintf("settings: --%s has a value of no layer", f.Name))
	}
	return Value{f, FromFlag, "--" + f.Name}, nil
}

// visitSettable calls visit for the flags of cmd that settings may set, sorted by
// name.
func visitSettable(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			visit(f)
		}
	})
}
