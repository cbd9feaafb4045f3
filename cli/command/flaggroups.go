package command

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupAnnotation is the annotation of a flag with the title of its group.
const groupAnnotation = "pequod_group"

// Group puts flags of cmd into a group, which help shows below the other flags. A
// command has at most one group.
func Group(cmd *cobra.Command, title string, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		Must(cmd.Flags().SetAnnotation(f.Name, groupAnnotation, []string{title}))
	})
}

// Grouped returns the title and the flags of the group of cmd, "" and no flags if
// cmd has none.
func Grouped(cmd *cobra.Command) (title string, flags *pflag.FlagSet) {
	flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if of := f.Annotations[groupAnnotation]; len(of) > 0 {
			title = of[0]
			flags.AddFlag(f)
		}
	})
	return title, flags
}

// WithoutGroup calls print while the group of cmd is hidden from the help that
// cobra writes.
func WithoutGroup(cmd *cobra.Command, print func() error) error {
	_, flags := Grouped(cmd)
	flags.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	defer flags.VisitAll(func(f *pflag.Flag) { f.Hidden = false })
	return print()
}

// ShowGroups makes the help of root and of its subcommands show groups of flags
// below the other flags.
func ShowGroups(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		title, flags := Grouped(cmd)
		if title == "" {
			return usage(cmd)
		}
		// cobra separates the sections and ends with the last flag.
		out := cmd.OutOrStderr()
		var text bytes.Buffer
		if err := WithoutGroup(cmd, func() error { return usageTo(&text, cmd, usage) }); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s\n\n%s:\n%s", strings.TrimRight(text.String(), "\n"), title, flags.FlagUsages())
		return err
	})
}

// usageTo calls usage with the output of cmd redirected to w.
func usageTo(w io.Writer, cmd *cobra.Command, usage func(*cobra.Command) error) error {
	out := cmd.OutOrStdout()
	errs := cmd.ErrOrStderr()
	cmd.SetOut(w)
	cmd.SetErr(w)
	defer func() { cmd.SetOut(out); cmd.SetErr(errs) }()
	return usage(cmd)
}
