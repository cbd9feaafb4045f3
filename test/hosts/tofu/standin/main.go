// Command standin stands in for OpenTofu in tests; see package tofu.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// diagnostic is an error or a warning in the form of OpenTofu.
type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Range    *where `json:"range,omitempty"`
}

type where struct {
	Filename string   `json:"filename"`
	Start    position `json:"start"`
}

type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Error implements error.
func (d *diagnostic) Error() string { return d.Summary + ": " + d.Detail }

// say prints a line of the output.
func say(level, message string, d *diagnostic) {
	line := map[string]any{"@level": level, "@message": message}
	if d != nil {
		line["diagnostic"] = d
	}
	text, _ := json.Marshal(line) // it has no values that can't be
	fmt.Println(string(text))
}

// command is a command with its options.
type command struct {
	name    string
	options map[string]string
	args    []string
}

func parse(args []string) command {
	c := command{name: args[0], options: map[string]string{}}
	for _, arg := range args[1:] {
		if name, value, _ := strings.Cut(arg, "="); strings.HasPrefix(name, "-") {
			c.options[name] = value
		} else {
			c.args = append(c.args, arg)
		}
	}
	return c
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := run(ctx, parse(os.Args[1:]))
	var known *diagnostic
	switch {
	case errors.As(err, &known):
		say("error", "Error: "+known.Summary, known)
		code = 1
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, c command) (code int, err error) {
	conf, err := load(c.options["-var-file"])
	if c.name == "validate" {
		return 0, validate(err)
	}
	if err != nil {
		return 0, err
	}
	b, err := connect(conf)
	if err != nil {
		return 0, err
	}
	if timeout := c.options["-lock-timeout"]; timeout != "" {
		if b.patience, err = time.ParseDuration(timeout); err != nil {
			return 0, err
		}
	}
	switch c.name {
	case "init":
		return 0, b.initialize(ctx)
	case "plan":
		return plan(ctx, conf, b, c)
	case "show":
		return 0, show(c.args[0])
	case "apply":
		return 0, apply(ctx, conf, b, c.args[0])
	case "output":
		s, err := b.read(ctx)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(s.Outputs)
		}
		return 0, err
	}
	return 0, fmt.Errorf("no command %s", c.name)
}

// validate prints the error of a configuration.
func validate(err error) error {
	found := []error{}
	if err != nil {
		found = append(found, err)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"valid": err == nil, "diagnostics": found})
}

func show(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var p planned
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(p)
}

// load reads the configuration in the working directory, and the values of variables.
func load(vars string) (*config, error) {
	files, err := filepath.Glob("*.tf.json")
	if err != nil {
		return nil, err
	}
	c := &config{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, c); err != nil {
			var syntax *json.SyntaxError
			line := 1
			if errors.As(err, &syntax) {
				line += strings.Count(string(data[:syntax.Offset]), "\n")
			}
			return nil, &diagnostic{"error", "Invalid JSON", err.Error(), &where{file, position{line, 1}}}
		}
	}
	return c, c.values(vars)
}

// values reads the values of variables from a file and from the environment.
func (c *config) values(file string) error {
	c.given = map[string]any{}
	for name, v := range c.Variable {
		c.given[name] = v.Default
		if value, ok := os.LookupEnv("TF_VAR_" + name); ok {
			c.given[name] = value
		}
	}
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var more map[string]any
	if err := json.Unmarshal(data, &more); err != nil {
		return err
	}
	for name, value := range more {
		if _, ok := c.Variable[name]; !ok {
			c.undeclared = name
		}
		c.given[name] = value
	}
	return nil
}
