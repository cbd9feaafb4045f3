package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/modules/crdtypes"
	"github.com/pequod-io/pequod/render"
)

// moduleImportOptions are the flags of module import.
type moduleImportOptions struct {
	// LimitFlags limit the conversion of each CRD.
	platform.LimitFlags
	// dir is the root of the module, the directory of cue.mod.
	dir string
}

// newModuleImportCommand returns the command "module import".
func newModuleImportCommand(env command.Env) *cobra.Command {
	o := &moduleImportOptions{}
	cmd := &cobra.Command{
		Use:   "import CRDS ...",
		Short: "Import CRDs into a module as CUE types",
		Long: `Convert CRDs to CUE, so that a module can give custom resources their types. CRDS is a
file, a directory with its subdirectories, REV:PATH for either in a git revision, or - for
stdin. Documents of other kinds are skipped.

Each version of a CRD becomes a package of its own, which the module imports as
GROUP/KIND/VERSION, with the kind in lower case:

  cue.mod/gen/cert-manager.io/certificate/v1/types_gen.cue

Generated files are replaced, and other files are never changed. Nothing is written
if a CRD cannot be converted.`,
		Example: `  pequod module import certificates.yaml --dir web-shop
  kubectl get crd certificates.cert-manager.io -o yaml | pequod module import -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args) },
	}
	o.LimitFlags.AddFlags(cmd)
	cmd.Flags().StringVar(&o.dir, "dir", ".", "root directory of the module, which has the directory cue.mod")
	command.Must(cmd.MarkFlagDirname("dir"))
	return cmd
}

// run converts all CRDs, writes the files and prints their names.
func (o *moduleImportOptions) run(ctx context.Context, env command.Env, args []string) error {
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return command.FileError(err)
	}
	defer root.Close() // files are closed when they are written
	if _, err := root.Stat("cue.mod/module.cue"); err != nil {
		return fmt.Errorf("%s: has no cue.mod/module.cue; create it with 'cue mod init', or give the root of the module by --dir", filepath.ToSlash(o.dir))
	}
	var all []crdtypes.File
	for _, arg := range args {
		crds, err := importedCRDs(ctx, env, arg)
		if err != nil {
			return err
		}
		for _, crd := range crds {
			subject := render.Subject{Name: crd.doc.Start().String() + ": " + crd.Name}
			generated, err := render.Guard(ctx, o.Limits(), subject, func() ([]crdtypes.File, error) { return typesOf(crd) })
			if err != nil {
				return err
			}
			all = append(all, generated...)
		}
	}
	for _, file := range all {
		if err := checkReplaceable(root, file.Path); err != nil {
			return fmt.Errorf("%s: %w", path.Join(filepath.ToSlash(o.dir), file.Path), err)
		}
	}
	for _, file := range all {
		if err := root.MkdirAll(path.Dir(file.Path), 0o755); err != nil {
			return command.FileError(err)
		}
		// A file is replaced as a whole: an empty one would be taken for one that was not
		// generated.
		part := file.Path + ".part"
		if err := root.WriteFile(part, file.Data, 0o644); err != nil {
			return command.FileError(err)
		}
		if err := root.Rename(part, file.Path); err != nil {
			return command.FileError(err)
		}
		if _, err := fmt.Fprintf(env.Out, "wrote %s\n", path.Join(filepath.ToSlash(o.dir), file.Path)); err != nil {
			return command.OutputError(err)
		}
	}
	return nil
}

// importedCRDs reads the CRDs of one argument.
func importedCRDs(ctx context.Context, env command.Env, arg string) ([]definition, error) {
	if arg != "-" {
		return readCRDs(ctx, arg)
	}
	data, err := files.ReadStdin(ctx, env.In)
	if err != nil {
		return nil, err
	}
	return definitionsIn("stdin", []files.TreeFile{{Name: "stdin", Data: data}})
}

// typesOf converts one CRD. Its errors are a [problem.List] with positions in the
// file of the CRD.
func typesOf(crd definition) ([]crdtypes.File, error) {
	syntax, ps := crd.doc.Syntax()
	if ps.Failed() {
		return nil, ps
	}
	if crd.Spec.Names.Singular == "" {
		// CUE requires what the API server adds.
		names := ast.NewStruct("singular", ast.NewString(strings.ToLower(crd.Spec.Names.Kind)))
		syntax = ast.NewBinExpr(token.AND, syntax, ast.NewStruct("spec", ast.NewStruct("names", names)))
	}
	generated, err := crdtypes.Generate(cuecontext.New().BuildExpr(syntax))
	if err == nil {
		return generated, nil
	}
	ps = cueerror.ProblemsIn(crd.doc.Name(), err)
	for i := range ps {
		ps[i].Rule = problem.RuleInstance
		if ps[i].Position.File != crd.doc.Name() || ps[i].Position.Line == 0 {
			ps[i].Position = crd.doc.Start()
		}
	}
	return nil, ps
}

// checkReplaceable returns an error if a file exists and was not generated.
func checkReplaceable(root *os.Root, name string) error {
	data, err := root.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !strings.HasPrefix(string(data), "// Code generated "):
		return errors.New("exists, and was not generated; remove it first")
	}
	return nil
}
