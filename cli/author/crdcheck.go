package author

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/crdgen/compat"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// checkFormats are the values of -o. JUnit is left out, because its cases are
// instances, and crd check has none.
var checkFormats = []string{"text", "json", "github", "gitlab", "sarif"}

// crdCheckOptions are the flags of crd check. No flag names platforms: the
// command compares finished CRDs, generated or written by hand.
type crdCheckOptions struct {
	platform.ConfineFlags
	// output is the value of -o, one of checkFormats. It selects the form of the
	// report only; the exit code is the same for all formats.
	output string
}

// newCRDCheckCommand returns the command "crd check". Its own Args function names
// OLD and NEW in the error, which cobra.ExactArgs can't.
func newCRDCheckCommand(env command.Env) *cobra.Command {
	o := &crdCheckOptions{}
	cmd := &cobra.Command{
		Use:   "check OLD NEW",
		Short: "Report breaking changes between CRDs",
		Long: `Report the changes between CRDs: breaking ones, which would reject a stored or
submitted object or change what it means; warnings, which reject nothing but change
what a write does; and safe ones. NEW accepts every object that OLD accepts unless a
change is reported as breaking.

If NEW stores another version and has no conversion webhook, the two stored versions
are compared, too, because the API server then reads stored objects as the new one.

OLD and NEW are files, directories, or REV:PATH for either in a git revision.
The exit code is 1 if a change is breaking.`,
		Example: `  pequod crd check main:crds crds/
  pequod crd check v1.2.0:crds/webservice.yaml crds/webservice.yaml -o github`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("crd check takes two arguments, OLD and NEW, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0], args[1]) },
	}
	o.ConfineFlags.AddFlags(cmd)
	command.Choice(cmd, &o.output, "output", "o", "text", checkFormats, "output format: "+strings.Join(checkFormats, ", "))
	return cmd
}

// run compares two sets of CRDs and prints all changes, breaking or not:
//
//   - Read OLD and NEW. An unreadable side ends the command.
//   - Compare the CRDs of the same name.
//   - Print the changes, then return [command.ExitNo] if one is breaking.
//
// The severity of a change tells the kinds apart: problem.Error is breaking,
// problem.Warning changes only writes, problem.Note is safe.
func (o *crdCheckOptions) run(ctx context.Context, env command.Env, oldArg, newArg string) error {
	if err := o.Confine(ctx, confine.Room{}); err != nil {
		return err
	}
	before, err := readCRDs(ctx, oldArg)
	if err != nil {
		return input.Checks{}.Fail(env, o.output, err)
	}
	after, err := readCRDs(ctx, newArg)
	if err != nil {
		return input.Checks{}.Fail(env, o.output, err)
	}
	changes := input.Checks{Problems: compare(before, after, newArg)}
	if err := changes.Report(env, o.output); err != nil {
		return err
	}
	return command.ExitWith(command.ProblemsExitCode(changes.Problems))
}

// definition is a CRD with the document that it was read from, for positions.
type definition struct {
	*apiextensionsv1.CustomResourceDefinition
	// doc turns the keys of a change, such as spec, versions, 0, into a line and
	// a column of the file.
	doc yamlfile.Document
}

// readCRDs reads the CRDs of a file, directory or git revision; see
// files.ReadTree. It skips other documents, such as the RBAC objects of a bundle.
// Finding no CRD at all is an error, because an empty side would hide every
// breaking change.
//
// Only apiextensions.k8s.io/v1 is accepted: API servers no longer serve v1beta1,
// and its schemas have another structure.
func readCRDs(ctx context.Context, arg string) ([]definition, error) {
	files, err := files.ReadTree(ctx, arg)
	if err != nil {
		return nil, err
	}
	return definitionsIn(arg, files)
}

// definitionsIn returns the CRDs in files. arg is their name in errors.
func definitionsIn(arg string, files []files.TreeFile) ([]definition, error) {
	var all []definition
	for _, file := range files {
		docs, err := yamlfile.Parse(file.Name, file.Data)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if kind := doc.Text("kind"); kind != "CustomResourceDefinition" {
				continue
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := doc.Decode(crd); err != nil {
				return nil, err
			}
			if crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
				return nil, doc.Problem(fmt.Errorf("apiVersion must be %s, not %q", apiextensionsv1.SchemeGroupVersion, crd.APIVersion))
			}
			// CRDs are matched by name, so a name must be unique on each side.
			if slices.ContainsFunc(all, func(d definition) bool { return d.Name == crd.Name }) {
				return nil, doc.Problem(fmt.Errorf("a second definition of %s", crd.Name))
			}
			all = append(all, definition{crd, doc})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no CustomResourceDefinition", arg)
	}
	return all, nil
}

// renamed reports whether another definition is of the same kind with another plural.
func (d definition) renamed(other definition) bool {
	a, b := d.Spec, other.Spec
	return a.Group == b.Group && a.Names.Kind == b.Names.Kind && a.Names.Plural != b.Names.Plural
}

// compare matches CRDs by name, or by kind, and reports their changes at the position in the
// new file. A removed CRD has no position there; it is reported at the argument
// NEW. The path of a problem starts with the version of the CRD, as in "v1alpha1
// spec.replicas".
func compare(before, after []definition, newArg string) problem.List {
	var problems problem.List
	add := func(at problem.Position, c compat.Change) {
		p := c.Problem
		p.Position, p.Path = at, strings.TrimSpace(c.Version+" "+c.Path)
		if strings.HasPrefix(p.Message, "plural ") {
			p.Hint = "a CRD can't be renamed; keep the old name as plural in #Platform"
		}
		problems = append(problems, p)
	}
	// First the CRDs of OLD, in its order: each is gone or can be compared.
	for _, o := range before {
		i := slices.IndexFunc(after, func(d definition) bool { return d.Name == o.Name })
		if i < 0 {
			i = slices.IndexFunc(after, o.renamed)
		}
		if i < 0 {
			add(problem.Position{File: newArg}, compat.Removed(o.CustomResourceDefinition))
			continue
		}
		for _, c := range compat.Check(o.CustomResourceDefinition, after[i].CustomResourceDefinition) {
			add(after[i].doc.PosOf(c.At), c)
		}
	}
	// Then the CRDs that only NEW has. A new CRD is a note, never breaking.
	for _, n := range after {
		if !slices.ContainsFunc(before, func(d definition) bool { return d.Name == n.Name || d.renamed(n) }) {
			add(n.doc.PosOf(nil), compat.Added(n.CustomResourceDefinition))
		}
	}
	return problems
}
