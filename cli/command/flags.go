package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Must panics if err is not nil. It is for the registration of flags and
// completions, which fails only for a flag that the command doesn't have.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Choice registers a string flag of cmd that takes one of the allowed values, and
// completes these. Any value but these and the default is an error before cmd
// runs. The check takes place after settings.Apply, so that it also covers values
// that come from pequod.yaml or the environment.
func Choice(cmd *cobra.Command, target *string, name, shorthand, value string, allowed []string, usage string) {
	cmd.Flags().StringVarP(target, name, shorthand, value, usage)
	Must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp)))
	before := cmd.PreRunE // the check of another Choice
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		if *target == value || slices.Contains(allowed, *target) {
			return nil
		}
		return fmt.Errorf("--%s %q: want one of %s", name, *target, strings.Join(allowed, ", "))
	}
}

// NewGroup returns a command that only groups subcommands. Run by itself, it
// prints its help.
func NewGroup(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subcommands...)
	return cmd
}
