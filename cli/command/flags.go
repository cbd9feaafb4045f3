package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// OneOf returns an error unless value is one of the allowed values of flag.
func OneOf(flag, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q: want one of %s", flag, value, strings.Join(allowed, ", "))
}

// Must panics if err is not nil. It is for the registration of flags and
// completions, which fails only for a flag that the command doesn't have.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// CompleteValues completes a flag of cmd with a fixed set of values.
func CompleteValues(cmd *cobra.Command, flag string, values []string) {
	Must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
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
