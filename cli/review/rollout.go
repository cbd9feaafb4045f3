package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/impact"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/operator/rollout"
	"github.com/pequod-io/pequod/render"
)

// rolloutOptions are the flags of rollout plan.
type rolloutOptions struct {
	input.RenderFlags
	// output is text or json.
	output string
	// against are the platforms in use, in the form of -p.
	against []string
	// batches replaces spec.rollout.batches of the Transforms if it isn't empty.
	batches []string
}

// newRolloutCommand returns the command "rollout" with its only subcommand, "plan".
func newRolloutCommand(env command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Plan how a new version of a module reaches its instances",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o := &rolloutOptions{}
	plan := &cobra.Command{
		Use:   "plan -p PLATFORM --against PLATFORM -f FILENAME",
		Short: "Print the batches in which a new version of a module reaches instances",
		Long: `Print the batches in which a new version of a module reaches instances. Instances are
rendered with the platforms of --against, which are in use, and of -p.

Instances that change in the same way form an impact group. The first batch has a
canary of each group, so that every way of changing is tried first. The settings are
spec.rollout of the Transform in -p: its batches and their order. --batches replaces
the batches. A manager in a cluster chooses the same batches. Without one, apply them
in turn: merge the instances of a batch, wait until they are ready, and go on.

Instances with the annotation pequod.io/pinned-version keep their version, unless it is
the new one. Instances whose graph stays the same are not listed. 'pequod diff --impact'
shows the changes of each group.

The exit code is 0, 1 if an instance is no longer valid with the new version, and 2 if
an instance could not be checked.`,
		Example: `  # Plan the rollout of a new version of a module
  pequod rollout plan -p platforms/ --against main:platforms -f apps/

  # Try other batches
  pequod rollout plan -p ./webservice --against main:webservice -f apps/ --batches 1,10%,50%`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(plan)
	fl := plan.Flags()
	command.Choice(plan, &o.output, "output", "o", "text", []string{"text", "json"}, "output format: text, json")
	fl.StringArrayVar(&o.against, "against", nil, "platform in use, as in -p; can be repeated")
	fl.StringSliceVar(&o.batches, "batches", nil, "sizes of the batches, such as 1,10%,50%, instead of those of the Transform")
	command.Must(plan.RegisterFlagCompletionFunc("against", platform.CompletePlatforms))
	cmd.AddCommand(plan)
	return cmd
}

// run prints the plan of each platform.
func (o *rolloutOptions) run(ctx context.Context, env command.Env) error {
	if len(o.Platforms) == 0 || len(o.against) == 0 {
		return errors.New("rollout plan requires the new platforms in -p and those in use in --against")
	}
	batches, err := parseBatches(o.batches)
	if err != nil {
		return err
	}
	old := o.RenderFlags
	old.Platforms = o.against
	m, err := impact.Compare(ctx, env, &old, &o.RenderFlags)
	if err != nil {
		return err
	}
	plans, err := rolloutPlans(m, batches)
	if err != nil {
		return err
	}
	write := writePlans
	if o.output == "json" {
		write = writePlansJSON
	}
	if err := write(env.Out, plans, m); err != nil {
		return command.OutputError(err)
	}
	switch {
	case m.Unchecked():
		return command.ExitWith(command.ExitUnknown)
	case m.Broken() > 0:
		return command.ExitWith(command.ExitNo)
	}
	return nil
}

// parseBatches parses the values of --batches, by the rules of spec.rollout.batches.
func parseBatches(values []string) ([]intstr.IntOrString, error) {
	var batches []intstr.IntOrString
	for _, v := range values {
		size := intstr.Parse(v)
		n, err := strconv.Atoi(strings.TrimSuffix(v, "%"))
		if err != nil || n < 1 || size.Type == intstr.String && n > 100 {
			return nil, fmt.Errorf("--batches: %q is neither a number from 1 nor a percentage from 1%% to 100%%", v)
		}
		batches = append(batches, size)
	}
	return batches, nil
}

// rolloutPlan is the plan of one platform.
type rolloutPlan struct {
	platform *render.Platform
	// members are the instances of the platform that are valid with both versions.
	members []impact.Member
	// groups are the impact groups, the largest first.
	groups []impactGroup
	// groupOf is the number of the impact group of each instance, from 1.
	groupOf map[types.NamespacedName]int
	batches []rollout.Batch
	pinned  []impact.Member
}

// impactGroup is a set of instances that change alike. plan counts the objects of each.
type impactGroup struct {
	plan    objectdiff.Plan
	members []*impact.Member
}

// rolloutPlans returns the plans of the platforms that have instances, by kind. A batches
// that isn't empty replaces the sizes in the settings.
func rolloutPlans(m *impact.Report, batches []intstr.IntOrString) ([]*rolloutPlan, error) {
	byKind := map[string]*rolloutPlan{}
	var plans []*rolloutPlan
	for _, member := range m.Members {
		kind := member.Platform.GroupKind()
		p := byKind[kind]
		if p == nil {
			p = &rolloutPlan{platform: member.Platform, groupOf: map[types.NamespacedName]int{}}
			byKind[kind], plans = p, append(plans, p)
		}
		p.members = append(p.members, member)
	}
	slices.SortFunc(plans, func(a, b *rolloutPlan) int { return cmp.Compare(a.platform.GroupKind(), b.platform.GroupKind()) })
	for _, p := range plans {
		if err := p.compute(batches); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// group fills in the impact groups, which are those of a manager: each instance is compared
// by itself.
func (p *rolloutPlan) group() error {
	var changed []*impact.Member
	var keys []objectdiff.GroupKey
	var plans []objectdiff.Plan
	for i := range p.members {
		m := &p.members[i]
		d, err := objectdiff.CompareGraphs(m.Before.Graph, m.After.Graph)
		if err != nil {
			return fmt.Errorf("%s: %w", m.After.Instance, err)
		}
		if len(d.Objects) > 0 {
			changed, keys, plans = append(changed, m), append(keys, m.After.Key(d)), append(plans, d.Plan())
		}
	}
	index := map[int]int{}
	for i, n := range objectdiff.GroupsOf(keys) {
		at, ok := index[n]
		if !ok {
			at = len(p.groups)
			index[n], p.groups = at, append(p.groups, impactGroup{plan: plans[i]})
		}
		p.groups[at].members = append(p.groups[at].members, changed[i])
	}
	slices.SortStableFunc(p.groups, func(a, b impactGroup) int { return len(b.members) - len(a.members) })
	for i, g := range p.groups {
		for _, m := range g.members {
			p.groupOf[types.NamespacedName{Namespace: m.After.Namespace, Name: m.After.Name}] = i + 1
		}
	}
	return nil
}

// compute fills in the groups, the batches and the pinned instances.
func (p *rolloutPlan) compute(batches []intstr.IntOrString) error {
	if err := p.group(); err != nil {
		return err
	}
	to := rollout.Version{Digest: p.platform.Module.Digest, Version: p.platform.Module.Version}
	var instances []rollout.Instance
	for _, member := range p.members {
		in := rollout.Instance{
			NamespacedName: types.NamespacedName{Namespace: member.After.Namespace, Name: member.After.Name},
			Labels:         member.Labels, Annotations: member.Annotations, Digest: "in use",
		}
		if n := p.groupOf[in.NamespacedName]; n > 0 {
			in.Change = strconv.Itoa(n)
		}
		if in.Held(to) {
			p.pinned = append(p.pinned, member)
		}
		instances = append(instances, in)
	}
	settings := v1alpha1.Rollout{}
	if p.platform.Rollout != nil {
		settings = *p.platform.Rollout
	}
	if len(batches) > 0 {
		settings.Batches = batches
	}
	p.batches = rollout.Plan(&settings, to, instances)
	return nil
}
