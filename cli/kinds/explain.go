package kinds

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/crdgen/explain"
	"github.com/pequod-io/pequod/internal/source"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	// Flags are -p, whose kinds can be explained next to those of Pequod and of the
	// embedded modules, and the limits of their evaluation.
	platform.Flags
	explain.Options
	// apiVersion is the group and version to explain instead of the preferred one.
	apiVersion string
	// output is plaintext, json or yaml.
	output string
}

// newExplainCommand returns the command "explain".
func newExplainCommand(env command.Env) *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:   "explain KIND[.FIELD...]",
		Short: "Describe the fields of a kind",
		Long: `Describe a kind and its fields as kubectl explain does, without a cluster. The text comes
from the comments in the module.

The kind is one of the platforms of -p, of an embedded module, or one of Pequod's own, such
as ResourceGraph and Action. It is named as for kubectl: by its kind, its plural or a
short name, and with its group if several kinds share the name. Items of lists and
values of maps have no name of their own.

-o json and -o yaml print the schema of the field, too, with its defaults and bounds.

The exit code is 1 for an unknown kind or field.`,
		Example: `  pequod explain webservice
  pequod explain webservice.spec.ports -p platforms/
  pequod explain webservice.spec --recursive --max-depth 2
  pequod explain resourcegraphs.spec.graph.nodes --api-version platform.pequod.io/v1alpha1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, part string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// cobra completes without running PersistentPreRunE, which would do this.
		if err := settings.Apply(cmd, env); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return o.complete(cmd.Context(), part)
	}
	o.AddFlags(cmd)
	fl := cmd.Flags()
	fl.BoolVarP(&o.Recursive, "recursive", "R", false, "print the names and types of fields at all depths")
	fl.IntVar(&o.MaxDepth, "max-depth", 0, "with --recursive, the depth to stop at; 0 means no limit")
	fl.StringVar(&o.apiVersion, "api-version", "", "group and version to explain, such as pequod.io/v1alpha1")
	command.Must(cmd.RegisterFlagCompletionFunc("api-version", cobra.NoFileCompletions))
	command.Choice(cmd, &o.output, "output", "o", "plaintext", []string{"plaintext", "json", "yaml"}, "output format: plaintext, json, yaml")
	return cmd
}

// run prints one field.
func (o *explainOptions) run(ctx context.Context, env command.Env, arg string) error {
	if o.MaxDepth < 0 {
		return errors.New("--max-depth must not be negative")
	}
	if o.MaxDepth > 0 && !o.Recursive {
		return errors.New("--max-depth requires --recursive")
	}
	kinds, err := load(ctx, &o.Flags, true)
	if err != nil {
		return err
	}
	kind, path, err := explain.Parse(kinds, arg, o.apiVersion)
	if err != nil {
		return command.ExitError{Code: command.ExitNo, Causes: []error{err}}
	}
	field, err := explain.Find(kind, path)
	if err != nil {
		return command.ExitError{Code: command.ExitNo, Causes: []error{err}}
	}
	if o.output != "plaintext" {
		return command.OutputError(output.Write(env.Out, o.output, describe(field)))
	}
	var text bytes.Buffer
	if err := field.Write(&text, o.Options); err != nil {
		return err
	}
	_, err = env.Out.Write([]byte(source.Escape(text.String(), "\n\t")))
	return command.OutputError(err)
}

// complete completes the name of a kind or of a field. Users go on with a dot, so no blank
// follows.
func (o *explainOptions) complete(ctx context.Context, part string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if ctx == nil { // set only by ExecuteContext
		ctx = context.Background()
	}
	kinds, err := load(ctx, &o.Flags, true)
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil, cobra.ShellCompDirectiveError
	}
	var all []cobra.Completion
	for _, c := range explain.Complete(kinds, part, o.apiVersion) {
		all = append(all, cobra.CompletionWithDesc(c.Text, source.Escape(c.Description, "")))
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// description is the JSON form of a field.
type description struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Path is the field, such as spec.port. It is empty for the whole object.
	Path        string `json:"path,omitempty"`
	Type        string `json:"type"`
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
	// Fields are the fields of the field, of its items or of its values.
	Fields []summary `json:"fields,omitempty"`
	// Schema is the schema in the form of a CRD.
	Schema apiextensionsv1.JSONSchemaProps `json:"schema"`
}

// summary is the JSON form of a field in a list.
type summary struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
}

// describe returns the JSON form of a field.
func describe(f explain.Field) description {
	d := description{
		APIVersion: f.Kind.APIVersion(), Kind: f.Kind.Kind, Path: strings.Join(f.Path, "."),
		Type: f.Type(), Required: f.Required, Description: f.Schema.Description, Schema: f.Kind.Inline(f.Schema),
	}
	fields := f.Fields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		in := fields[name]
		d.Fields = append(d.Fields, summary{name, in.Type(), in.Required, in.Schema.Description})
	}
	return d
}
