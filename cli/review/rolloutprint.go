package review

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/impact"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/operator/rollout"
	"github.com/pequod-io/pequod/review/text"
)

// maxListed is the number of instances that text lists of a batch. JSON has all.
const maxListed = 10

// changed returns the number of instances in batches.
func (p *rolloutPlan) changed() int {
	n := 0
	for _, b := range p.batches {
		n += len(b.Canaries) + len(b.Instances)
	}
	return n
}

// writePlans prints plans as text, and then the instances that aren't valid.
func writePlans(w io.Writer, plans []*rolloutPlan, m *impact.Report) error {
	b := bufio.NewWriter(w)
	if len(plans) == 0 {
		fmt.Fprintln(b, "no instance is valid with both versions")
	}
	for i, p := range plans {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "%s: %d of %s would change, in %s\n", p.platform.GroupKind(), p.changed(),
			source.Count(len(p.members), "instance"), source.Count(len(p.groups), "impact group"))
		for i, g := range p.groups {
			each := ""
			if len(g.members) > 1 {
				each = " in each"
			}
			fmt.Fprintf(b, "  group %d: %s: %d to add, %d to change, %d to remove%s\n",
				i+1, source.Count(len(g.members), "instance"), g.plan.Add, g.plan.Change, g.plan.Remove, each)
		}
		for _, batch := range p.batches {
			p.writeBatch(b, batch)
		}
		for _, in := range p.pinned {
			fmt.Fprintf(b, "  pinned: %s at %s\n", name(in.After.Namespace, in.After.Name), source.Escape(in.Annotations[v1alpha1.AnnotationPinnedVersion], ""))
		}
	}
	if err := text.WriteUnknown(b, m.Report, style.Painter{Color: style.Colored(w)}.Sign); err != nil {
		return err
	}
	if n := m.Broken(); n > 0 {
		fmt.Fprintf(b, "\nThe new version refuses %s: a rollout halts before its first batch, unless spec.rollout.haltWhen.refusedInstances is larger.\n",
			source.Count(n, "instance"))
	}
	return b.Flush()
}

// writeBatch prints a batch, the canaries first.
func (p *rolloutPlan) writeBatch(b *bufio.Writer, batch rollout.Batch) {
	n := len(batch.Canaries) + len(batch.Instances)
	fmt.Fprintf(b, "  batch %d: %s", batch.Number, source.Count(n, "instance"))
	if batch.Number == 1 && batch.Step < n {
		fmt.Fprintf(b, ", %d at a time", batch.Step)
	}
	fmt.Fprintln(b)
	for i, in := range slices.Concat(batch.Canaries, batch.Instances) {
		if i == maxListed && n > maxListed+1 {
			fmt.Fprintf(b, "    … %d more\n", n-i)
			break
		}
		fmt.Fprintf(b, "    %s  (group %d", name(in.Namespace, in.Name), p.groupOf[in.NamespacedName])
		if i < len(batch.Canaries) {
			fmt.Fprint(b, ", canary")
		}
		fmt.Fprintln(b, ")")
	}
}

// name returns NAMESPACE/NAME, or NAME for an instance of a cluster-scoped kind.
func name(namespace, name string) string {
	if namespace == "" {
		return source.Escape(name, "")
	}
	return source.Escape(namespace+"/"+name, "")
}

// jsonPlans is the JSON form of plans. Fields are only ever added to it.
type jsonPlans struct {
	Platforms []jsonPlan `json:"platforms"`
	// Broken are the problems of instances that are no longer valid.
	Broken []report.JSONProblem `json:"noLongerValid"`
}

// jsonPlan is the plan of one platform.
type jsonPlan struct {
	// Kind is KIND.GROUP, and Digest the digest of the new module.
	Kind   string `json:"kind"`
	Digest string `json:"digest"`
	// Instances is the number of instances that are valid with both versions, and Changed
	// the number of those in batches.
	Instances int                   `json:"instances"`
	Changed   int                   `json:"changed"`
	Groups    []jsonGroup           `json:"groups"`
	Batches   []jsonBatch           `json:"batches"`
	Pinned    []objectdiff.Instance `json:"pinned"`
}

// jsonGroup is an impact group.
type jsonGroup struct {
	Group     int             `json:"group"`
	Instances int             `json:"instances"`
	Plan      objectdiff.Plan `json:"plan"`
}

// jsonBatch is a batch of a plan. AtATime is the number of instances that change together.
type jsonBatch struct {
	Batch     int            `json:"batch"`
	AtATime   int            `json:"atATime"`
	Instances []jsonInstance `json:"instances"`
}

// jsonInstance is an instance in a batch. File is the path of its manifest.
type jsonInstance struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	File      string `json:"file"`
	Group     int    `json:"group"`
	Canary    bool   `json:"canary,omitempty"`
}

// writePlansJSON prints plans as one indented JSON object.
func writePlansJSON(w io.Writer, plans []*rolloutPlan, m *impact.Report) error {
	out := jsonPlans{Platforms: []jsonPlan{}, Broken: m.Problems()}
	for _, p := range plans {
		files := map[string]string{}
		for _, in := range p.members {
			files[name(in.After.Namespace, in.After.Name)] = in.After.File
		}
		j := jsonPlan{Kind: p.platform.GroupKind(), Digest: p.platform.Module.Digest, Instances: len(p.members), Changed: p.changed(),
			Groups: []jsonGroup{}, Batches: []jsonBatch{}, Pinned: []objectdiff.Instance{}}
		for i, g := range p.groups {
			j.Groups = append(j.Groups, jsonGroup{i + 1, len(g.members), g.plan})
		}
		for _, b := range p.batches {
			all := slices.Concat(b.Canaries, b.Instances)
			batch := jsonBatch{Batch: b.Number, AtATime: len(all)}
			if b.Number == 1 {
				batch.AtATime = min(b.Step, len(all))
			}
			for i, in := range all {
				batch.Instances = append(batch.Instances, jsonInstance{in.Namespace, in.Name, files[name(in.Namespace, in.Name)],
					p.groupOf[in.NamespacedName], i < len(b.Canaries)})
			}
			j.Batches = append(j.Batches, batch)
		}
		for _, in := range p.pinned {
			j.Pinned = append(j.Pinned, in.After.Instance)
		}
		out.Platforms = append(out.Platforms, j)
	}
	return jsonvalue.Write(w, out)
}
