package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/modules/trust"
)

// ruleValue is the value of a rule of verify, with the fields of pequod.yaml. The files are
// relative to the working directory.
type ruleValue struct {
	Modules []string `json:"modules"`
	trust.Signers
}

// String returns the rule on one line.
func (r ruleValue) String() string {
	return strings.Join(r.Modules, ",") + " by " + r.Signers.String()
}

// allowedValue is the value of allow-modules.
type allowedValue []string

// String returns the patterns on one line. An empty list is not the same as no list.
func (a allowedValue) String() string {
	if len(a) == 0 {
		return "none"
	}
	return strings.Join(a, ",")
}

// usesRegistries reports whether the command in args has the flags for registries. Rules about
// modules don't affect other commands.
func usesRegistries(root *cobra.Command, args []string) bool {
	cmd, _, err := root.Find(args)
	return err == nil && cmd.Flags().Lookup("registry-ca-file") != nil
}

// withRules returns entries and those of the rules about modules, sorted by key. Rules have no
// default. They are in the order of the files, the nearest one first.
func withRules(entries []configEntry, env command.Env) ([]configEntry, error) {
	files, err := settings.Rules(env)
	if err != nil {
		return nil, err
	}
	for _, rules := range files {
		if rules.Allow != nil {
			entries = append(entries, configEntry{Key: settings.AllowKey, Value: allowedValue(rules.Allow), Source: settings.FromFile, At: rules.At.String()})
		}
		for _, rule := range rules.Verify {
			entries = append(entries, configEntry{Key: settings.VerifyKey, Value: ruleValue{rule.Modules, rule.Signers}, Source: settings.FromFile, At: rule.At.String()})
		}
	}
	slices.SortStableFunc(entries, func(a, b configEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries, nil
}
