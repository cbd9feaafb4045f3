package review

import (
	"context"
	"strings"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/review"
)

// runLive compares graphs with a cluster: it plans their apply, with the same
// flags, and prints the changes of the plans. The API server validates each
// change as a dry run; without the right to send dry runs, the changes are computed
// here. The exit code is 1 if there are changes, and higher if an apply would fail
// without a certain answer.
func (o *diffOptions) runLive(ctx context.Context, env command.Env) error {
	o.Modules.Options.ConfigMaps = o.ConfigMaps(kube.PrintWarnings(env.Err), o.Namespace)
	graphs, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	var opts applier.PlanOptions
	opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
	opts.Fallback = o.Fallback()
	plans, err := execute.PlanEach(ctx, a, graphs, opts)
	if err != nil {
		return err
	}
	d, consequences, err := execute.LiveDiff(plans)
	if err != nil {
		return err
	}
	head := review.Tree{Side: review.Side{Name: "apply of " + strings.Join(o.Filenames, ", "), AsIs: true}}
	for _, g := range graphs {
		head.Units = append(head.Units, g.Unit())
	}
	r := review.NewApply(review.Side{Name: "cluster", AsIs: true}, head, d, consequences)
	if err := o.write(env.Out, r); err != nil {
		return command.OutputError(err)
	}
	kube.PrintFallback(env.Err, opts.Fallback)
	return command.ExitWith(max(differenceCode(r), execute.PrintObstacles(env.Err, plans, func(n applier.PlannedNode) bool {
		// These nodes are not part of the difference, so only the obstacle
		// tells about them. The others show it as a warning.
		return n.Live == nil && n.Object == nil || n.Op == engine.Observed
	})))
}
