package execute

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/inventory"
)

// ProgressGraph returns the nodes and waves of a graph in the form that progress
// shows before the run begins. The title has the source of a rendered graph, as
// in "WebService shop/web". A graph whose waves can't be computed is shown
// without nodes.
func ProgressGraph(rg *v1alpha1.ResourceGraph) progress.Graph {
	shown := progress.Graph{Owner: inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}}
	if ref := rg.Spec.SourceRef; ref.Kind != "" {
		name := ref.Name
		if ref.Namespace != "" {
			name = ref.Namespace + "/" + name
		}
		shown.Source = ref.Kind + " " + name
	}
	g := graph.Read(rg)
	waves, err := g.Waves()
	if err != nil {
		return shown // input.ReadGraphs has reported the cycle
	}
	// of is the wave of each node.
	of := map[string]int{}
	for wave, ids := range waves {
		for _, id := range ids {
			of[id] = wave
		}
	}
	for _, n := range g.Nodes {
		shown.Nodes = append(shown.Nodes, progress.Node{ID: n.ID, Wave: of[n.ID], Key: inventory.Key{
			Group: n.GroupKind().Group, Kind: n.Object.Kind, Namespace: n.Object.Namespace, Name: n.Object.Name,
		}})
	}
	return shown
}

// OpenSink returns the display of progress: events on stdout with -o json, else a
// live tree if stderr is a terminal, else lines on stderr. The caller closes it,
// which [RunFlags.Finish] does.
func (f *RunFlags) OpenSink(env command.Env, graphs []progress.Graph) progress.Sink {
	if f.Output == "json" {
		return progress.NewJSON(env.Out, time.Now)
	}
	if t, ok := Terminal(env.Err); ok {
		return progress.NewLive(t, graphs)
	}
	return progress.NewLines(env.Err, graphs)
}

// Terminal returns w as a terminal. ok is false if w is no terminal, or if a tree
// must not be drawn on it, as with NO_COLOR or TERM=dumb. Size returns zeros if
// the size is unknown.
func Terminal(w io.Writer) (t progress.Terminal, ok bool) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || !style.Colored(w) || os.Getenv("TERM") == "dumb" {
		return progress.Terminal{}, false
	}
	return progress.Terminal{
		Writer: file, Color: true, Now: time.Now,
		Size: func() (width, height int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		},
	}, true
}
