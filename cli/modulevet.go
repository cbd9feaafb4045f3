package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/render"
)

type moduleVetOptions struct {
	renderFlags
}

func newModuleVet(s streams) *cobra.Command {
	o := &moduleVetOptions{}
	cmd := &cobra.Command{
		Use:   "vet -p PLATFORM [-f SAMPLES]",
		Short: "Check modules, and how they do with sample instances",
		Long: `Check modules: that they load, that their names are good, and that their CRDs
pass the API server's own validation. What a CRD can't say is listed.

Samples are rendered. If their kind has several versions, they are converted to
the others and back, and what is lost on the way is an error.`,
		Example: `  pequod module vet -p ./shop
  pequod module vet -p ./shop -f samples/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	o.renderFlags.add(cmd)
	return cmd
}

func (o *moduleVetOptions) run(ctx context.Context, s streams) error {
	if len(o.platforms) == 0 {
		return fmt.Errorf("no platforms given; name Transforms or modules with -p, such as -p ./shop")
	}
	catalog, err := o.platformFlags.open(ctx)
	if err != nil {
		return err
	}
	crd := &crdGenerateOptions{platformFlags: o.platformFlags, outputFlags: outputFlags{output: "yaml"}}
	crds, err := crd.generate(ctx, catalog.given)
	if err != nil {
		return err
	}
	for _, c := range crds {
		for _, n := range c.notes {
			fmt.Fprintln(s.out, n)
		}
	}
	if len(o.filenames) == 0 {
		return nil
	}
	sum, err := renderAll(ctx, s, &o.renderFlags, roundTrip, func(rendered[*v1alpha1.ResourceGraph]) error { return nil })
	if err != nil {
		return err
	}
	if err := printProblems(s.out, sum); err != nil {
		return outputError(err)
	}
	if sum.problems.Failed() {
		return saidError{problemsCode(sum.problems)}
	}
	return nil
}

// roundTrip takes a rendered sample through the other versions of its kind.
func roundTrip(r render.Result) (*v1alpha1.ResourceGraph, render.Problems) {
	return r.Graph, (&render.Renderer{}).RoundTrip(r.Instance, r.Platform)
}
