package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/internal/source"
)

// maxSummary is the length of the summary of a plan in bytes.
const maxSummary = 4000

// action lists the actions of a plan for one resource or output, such as "create".
type action struct {
	Actions []string `json:"actions"`
}

// shown has the part of a plan that is read. Values aren't: they may be sensitive.
type shown struct {
	Resources []struct {
		Address string `json:"address"`
		Change  action `json:"change"`
	} `json:"resource_changes"`
	Outputs map[string]action `json:"output_changes"`
}

// signs are the actions of a plan, as people know them of OpenTofu. Others change nothing.
var signs = map[string]string{
	"create": "+", "update": "~", "delete": "-", "delete,create": "-/+", "create,delete": "+/-", "forget": ".",
}

// summarize counts the changes of a plan, and lists them.
func (s shown) summarize() (Changes, string) {
	var c Changes
	var list []string
	for _, r := range s.Resources {
		actions := strings.Join(r.Change.Actions, ",")
		if signs[actions] == "" {
			continue
		}
		for _, a := range r.Change.Actions {
			switch a {
			case "create":
				c.Create++
			case "delete", "forget":
				c.Delete++
			default:
				c.Update++
			}
		}
		list = append(list, signs[actions]+" "+r.Address)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		if sign := signs[strings.Join(s.Outputs[name].Actions, ",")]; sign != "" {
			c.Outputs++
			list = append(list, sign+" output."+name)
		}
	}
	text := fmt.Sprintf("%d to create, %d to update, %d to delete", c.Create, c.Update, c.Delete)
	if len(list) > 0 {
		text += ": " + strings.Join(list, ", ")
	}
	return c, source.OneLine(text, maxSummary)
}

// changes reads the changes of a plan file.
func (p *program) changes(ctx context.Context, plan string) (Result, error) {
	var s shown
	if err := p.read(ctx, &s, "show", "-json", plan); err != nil {
		return Result{}, err
	}
	c, summary := s.summarize()
	return Result{Changes: c, Summary: p.redact(summary)}, nil
}

// outputs reads the outputs of the state.
func (p *program) outputs(ctx context.Context, r *Result) error {
	var all map[string]struct {
		Sensitive bool            `json:"sensitive"`
		Value     json.RawMessage `json:"value"`
	}
	if err := p.read(ctx, &all, "output", "-json"); err != nil {
		return err
	}
	r.Outputs, r.Sensitive = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, o := range all {
		if o.Sensitive || p.leaks(o.Value) {
			r.Sensitive[name] = o.Value
		} else {
			r.Outputs[name] = o.Value
		}
	}
	return nil
}

// leaks reports whether a value has that of a variable of a Secret. Encoders of JSON differ in the
// characters that they escape, so each string is compared, too.
func (p *program) leaks(value json.RawMessage) bool {
	r := redact.New().And(p.hidden...)
	return r.Leaks(string(value)) || slices.ContainsFunc(Strings(executor.Decode(value)), r.Leaks)
}

// Strings returns the strings in a JSON value, without the names of fields.
func Strings(value any) []string {
	var all []string
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, item := range v {
			all = append(all, Strings(item)...)
		}
	case map[string]any:
		for _, item := range v {
			all = append(all, Strings(item)...)
		}
	}
	return all
}
