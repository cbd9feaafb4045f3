package pictures

import "github.com/pequod-io/pequod/review/drawing"

// architecture is the way from what people write to what a cluster runs.
func architecture() drawing.Graph {
	const module, instance, policy, render, graph, review, git, applier, apply, cluster = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	var g drawing.Graph
	g.Title = "From a module and an instance to a cluster"
	g.Headings = []string{"people write", "offline", "plain data", "review and delivery", "in the cluster"}
	g.Nodes = make([]drawing.Node, cluster+1)
	for n, lines := range map[int][]string{
		module:   {"module", "CUE: schema and template", "platform engineers"},
		instance: {"instance", "a few lines of YAML", "developers"},
		policy:   {"policies, pequod.lock", "rules, pinned digests"},
		render:   {"pequod render", "CUE, no network, no cluster"},
		graph:    {"ResourceGraph", "objects, dependencies, checks"},
		review:   {"pequod review", "what it will do, and why"},
		git:      {"git or a registry", "Flux, Argo CD, kubectl"},
		applier:  {"pequod-applier", "waves, readiness, drift", "no CUE inside"},
		apply:    {"pequod apply", "the same engine, once"},
		cluster:  {"Kubernetes API", "server-side apply"},
	} {
		g.Nodes[n].Lines = lines
	}
	g.Nodes[cluster].External, g.Nodes[git].External = true, true
	for _, e := range [][2]int{
		{module, render}, {instance, render}, {policy, render}, {render, graph}, {graph, review}, {graph, git},
		{git, applier}, {graph, apply}, {applier, cluster}, {apply, cluster},
	} {
		g.Edges = append(g.Edges, drawing.Edge{From: e[0], To: e[1]})
	}
	return g
}
