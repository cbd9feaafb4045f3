package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// config is a configuration.
type config struct {
	Variable map[string]struct{ Default any }
	Resource struct {
		Data map[string]resource `json:"terraform_data"`
	}
	Output    map[string]output
	Terraform struct {
		Backend struct {
			Kubernetes struct {
				Suffix    string `json:"secret_suffix"`
				Namespace string
			}
		}
	}

	given      map[string]any // values of variables
	undeclared string         // a variable that has a value and isn't declared
}

// resource is a resource of the type terraform_data.
type resource struct {
	Input     string
	Triggers  string   `json:"triggers_replace"`
	DependsOn []string `json:"depends_on"`
	// Provisioner has commands.
	Provisioner []struct {
		Exec struct{ Command string } `json:"local-exec"`
	}
}

// output is an output of a configuration, where the value is an expression, or of a state.
type output struct {
	Value     any  `json:"value"`
	Sensitive bool `json:"sensitive"`
}

// state is a state, in the form of OpenTofu.
type state struct {
	Version   int               `json:"version"`
	Serial    int               `json:"serial"`
	Resources []stored          `json:"resources"`
	Outputs   map[string]output `json:"outputs"`
}

type stored struct {
	Name     string `json:"name"`
	ID       string `json:"id"`
	Value    string `json:"value"`
	Triggers string `json:"triggers"`
}

func (s *state) find(name string) *stored {
	for i := range s.Resources {
		if s.Resources[i].Name == name {
			return &s.Resources[i]
		}
	}
	return nil
}

// planned is a plan.
type planned struct {
	// Timestamp makes each plan another one.
	Timestamp time.Time         `json:"timestamp"`
	Serial    int               `json:"serial"`
	Vars      map[string]any    `json:"vars"`
	Changes   []change          `json:"resource_changes"`
	Outputs   map[string]action `json:"output_changes"`
}

type change struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Change  action `json:"change"`
}

type action struct {
	Actions []string `json:"actions"`
}

var reference = regexp.MustCompile(`\$\{(var|terraform_data)\.([a-z]+)(?:\.(output|id))?\}`)

// eval evaluates an expression of a configuration over a state.
func eval(expression string, vars map[string]any, s *state) string {
	return reference.ReplaceAllStringFunc(expression, func(text string) string {
		m := reference.FindStringSubmatch(text)
		if m[1] == "var" {
			return fmt.Sprint(vars[m[2]])
		}
		switch r := s.find(m[2]); {
		case r == nil:
			return ""
		case m[3] == "id":
			return r.ID
		default:
			return r.Value
		}
	})
}

// compare returns what there is to do.
func compare(c *config, s *state, destroy bool) planned {
	p := planned{Timestamp: time.Now(), Serial: s.Serial, Vars: c.given, Outputs: map[string]action{}}
	resources := c.Resource.Data
	if destroy {
		resources = nil
	}
	names := slices.Sorted(maps.Keys(resources))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(len(resources[a].DependsOn), len(resources[b].DependsOn))
	})
	add := func(name string, actions ...string) {
		p.Changes = append(p.Changes, change{name, "terraform_data." + name, action{actions}})
	}
	next := &state{Resources: slices.Clone(s.Resources)}
	for _, name := range names {
		r, before := resources[name], s.find(name)
		switch value := eval(r.Input, c.given, s); {
		case before == nil:
			add(name, "create")
			next.Resources = append(next.Resources, stored{Name: name, Value: value})
		case before.Triggers != eval(r.Triggers, c.given, s):
			add(name, "delete", "create")
		case before.Value != value:
			add(name, "update")
			next.find(name).Value = value
		}
	}
	for _, before := range s.Resources {
		if _, ok := resources[before.Name]; !ok {
			add(before.Name, "delete")
		}
	}
	for name, o := range c.Output {
		if before, ok := s.Outputs[name]; !destroy && (!ok || before.Value != eval(o.Value.(string), c.given, next)) {
			p.Outputs[name] = action{[]string{"update"}}
		}
	}
	return p
}

func plan(ctx context.Context, c *config, b *backend, cmd command) (code int, err error) {
	for name, value := range c.given {
		if value == nil {
			return 0, &diagnostic{Severity: "error", Summary: "No value for required variable", Detail: name}
		}
	}
	var p planned
	err = b.locked(ctx, "OperationTypePlan", func() error {
		s, err := b.read(ctx)
		if err == nil {
			_, destroy := cmd.options["-destroy"]
			p = compare(c, s, destroy)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if c.undeclared != "" {
		say("warn", "Warning", &diagnostic{Severity: "warning", Summary: "Value for undeclared variable", Detail: fmt.Sprintf("%q", c.undeclared)})
	}
	data, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	if len(p.Changes)+len(p.Outputs) > 0 {
		code = 2
	}
	return code, os.WriteFile(cmd.options["-out"], data, 0o600)
}

func apply(ctx context.Context, c *config, b *backend, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var p planned
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	return b.locked(ctx, "OperationTypeApply", func() error {
		s, err := b.read(ctx)
		if err != nil {
			return err
		}
		if s.Serial != p.Serial {
			return &diagnostic{Severity: "error", Summary: "Saved plan is stale"}
		}
		for _, change := range p.Changes {
			if err = execute(ctx, c, p, s, change); err != nil {
				break
			}
		}
		s.Outputs = map[string]output{}
		for name, o := range c.Output {
			s.Outputs[name] = output{eval(o.Value.(string), p.Vars, s), o.Sensitive}
		}
		if also := b.write(context.Background(), s); also != nil { // also after a signal
			return also
		}
		return err
	})
}

// execute does one change. A command that fails leaves its resource to be created again.
func execute(ctx context.Context, c *config, p planned, s *state, change change) error {
	r := c.Resource.Data[change.Name]
	if slices.Contains(change.Change.Actions, "delete") {
		s.Resources = slices.DeleteFunc(s.Resources, func(r stored) bool { return r.Name == change.Name })
	}
	switch last := change.Change.Actions[len(change.Change.Actions)-1]; last {
	case "create":
		for _, provisioner := range r.Provisioner {
			cmd := exec.CommandContext(ctx, "/bin/sh", "-c", eval(provisioner.Exec.Command, p.Vars, s))
			if err := cmd.Run(); err != nil {
				return &diagnostic{Severity: "error", Summary: "local-exec provisioner error", Detail: err.Error()}
			}
		}
		s.Resources = append(s.Resources, stored{change.Name, fmt.Sprint(time.Now().UnixNano()), eval(r.Input, p.Vars, s), eval(r.Triggers, p.Vars, s)})
	case "update":
		s.find(change.Name).Value = eval(r.Input, p.Vars, s)
	}
	say("info", change.Address+": "+strings.Join(change.Change.Actions, ", "), nil)
	return nil
}
