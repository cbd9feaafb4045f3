package run

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// stateView displays the states of watched graphs. Its methods are called
// concurrently, for different graphs. There are three of them: a live tree on a
// terminal, lines elsewhere, and jsonStates.
type stateView interface {
	// Show displays the current state of a graph.
	Show(*applier.State)
	// Gone reports that a graph that was shown no longer exists.
	Gone(inventory.Owner)
	// Err returns the first error of writing.
	Err() error
	// Close ends the display.
	Close()
}

// watched is a graph that is watched. Until all goroutines have ended, only its
// own goroutine writes to it; followed reads it afterwards. So it needs no lock.
type watched struct {
	owner inventory.Owner
	// graph is nil if only the name is given. The cluster then has the spec.
	graph *v1alpha1.ResourceGraph
	// ready is the readiness in the last state that was shown.
	ready bool
	// requestError is the error of the last request, nil if it succeeded.
	requestError error
	// seen is true once a state was shown.
	seen bool
}

// follow shows the state of graphs and then each change. The steps are:
//
//   - Check the flags and read the input.
//   - Connect, find the graphs of names, and open the view for -o and for the kind of stdout.
//   - Follow all graphs until the goal, the timeout or an interrupt.
//   - Close the view, then print the graphs that are not ready.
//
// The view is closed before errors are printed, because a live tree owns the
// terminal until then. A timeout isn't an error of its own here: followed reports
// it for each graph.
func (o *statusOptions) follow(ctx context.Context, env command.Env, names statusNames) error {
	switch {
	case o.timeout < 0:
		return errors.New("--timeout: must not be negative")
	case names.empty() && len(o.Filenames) == 0:
		return errors.New("--watch and --wait require names or -f")
	case o.output != "text" && o.output != "json":
		return errors.New("--watch and --wait only support -o text and -o json")
	}
	graphs, err := o.watched(ctx, env, names)
	if err != nil {
		return err
	}
	var objects []*watchedObject
	for _, key := range names.outside {
		objects = append(objects, &watchedObject{key: key})
	}
	// Until the view is open, warnings go to stderr directly. Afterwards the view
	// prints them. No request is sent in between, so warned needs no lock.
	warned := kube.PrintWarnings(env.Err)
	a, err := o.Connect(func(text string) { warned(text) })
	if err != nil {
		return err
	}
	for _, w := range graphs {
		if w.graph != nil {
			continue
		}
		if w.owner, err = o.Graph(ctx, a, w.owner.Name, o.Namespace); err != nil {
			return err
		}
	}
	view, warn := o.stateView(env, graphs, objects)
	warned = warn
	if o.wait && o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, applier.ErrTimeout)
		defer cancel()
	}
	err = followEach(ctx, a, graphs, objects, view, warn, o.wait)
	view.Close()
	if err := view.Err(); err != nil {
		return command.OutputError(err)
	}
	if err != nil && !errors.Is(err, applier.ErrTimeout) {
		return err
	}
	return o.followed(ctx, env, graphs, objects)
}

// watched returns the graphs of names, as they were given, or of -f if there are no names. It sends
// no request.
func (o *statusOptions) watched(ctx context.Context, env command.Env, names statusNames) ([]*watched, error) {
	var all []*watched
	for _, name := range names.graphs {
		all = append(all, &watched{owner: inventory.Owner{Namespace: o.Namespace, Name: name}})
	}
	if !names.empty() {
		return all, nil
	}
	// After an error graphs is empty, and the caller ignores the result.
	graphs, err := o.ReadGraphs(ctx, env)
	for _, g := range graphs {
		all = append(all, &watched{owner: inventory.Owner{Namespace: g.Namespace, Name: g.Name}, graph: g.ResourceGraph})
	}
	return all, err
}

// stateView returns the display for -o and for the kind of stdout, and a function
// that prints warnings without disturbing it. Objects have lines, also on a terminal.
func (o *statusOptions) stateView(env command.Env, graphs []*watched, objects []*watchedObject) (stateView, func(string)) {
	if o.output == "json" {
		return &jsonStates{w: env.Out}, kube.PrintWarnings(env.Err)
	}
	if t, ok := execute.Terminal(env.Out); ok && len(objects) == 0 {
		shown := make([]progress.Graph, len(graphs))
		for i, g := range graphs {
			shown[i].Owner = g.owner
		}
		live := progress.NewLive(t, shown)
		return live, live.Warn
	}
	return progress.NewStates(env.Out, len(graphs) > 1), kube.PrintWarnings(env.Err)
}

// followEach follows graphs concurrently until ctx ends, or with untilReady until
// all are ready. Failed requests are reported and retried. Without untilReady, an
// interrupt is the normal end and no error.
//
// A graph that doesn't exist is an error, unless it existed when the watch began:
// then it was deleted, which ends only its own goroutine. Any other error ends
// the watch of all graphs.
func followEach(ctx context.Context, a *applier.Applier, graphs []*watched, objects []*watchedObject, view stateView, warn func(string), untilReady bool) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, w := range objects {
		lines := view.(objectView) // the views without a tree
		g.Go(func() error {
			err := w.follow(ctx, a.Client, lines, warn, untilReady)
			if errors.Is(err, context.Canceled) && w.seen && !untilReady {
				return nil
			}
			return err
		})
	}
	for _, w := range graphs {
		g.Go(func() error {
			err := a.Follow(ctx, w.owner, w.graph, func(state *applier.State, err error) bool {
				if err != nil {
					// Every retry fails with the same text; it is printed once.
					if err = kube.Error(err); w.requestError == nil || w.requestError.Error() != err.Error() {
						warn(source.Escape(err.Error(), "") + "; retrying")
					}
					w.requestError = err
					return true
				}
				w.seen, w.requestError, w.ready = true, nil, state.Ready
				view.Show(state)
				// Stop at the goal, or if nothing can be displayed any more.
				return view.Err() == nil && !(state.Ready && untilReady)
			})
			switch {
			case errors.Is(err, applier.ErrNoGraph) && w.seen:
				w.ready = false
				view.Gone(w.owner)
				return nil
			case errors.Is(err, context.Canceled) && w.seen && !untilReady:
				return nil
			case w.graph != nil && !errors.Is(err, applier.ErrTimeout):
				return execute.GraphError(w.graph, err)
			}
			return kube.Error(err)
		})
	}
	return g.Wait()
}

// followed prints the reasons why graphs are not ready at the end, and returns
// the error for the exit code: 0 if all are ready, 2 if the last request for a
// graph failed, and 1 otherwise. The highest code wins.
func (o *statusOptions) followed(ctx context.Context, env command.Env, graphs []*watched, objects []*watchedObject) error {
	code := command.ExitOK
	for _, w := range objects {
		code = max(code, w.outcome(ctx, env, o.timeout, o.wait))
	}
	for _, w := range graphs {
		switch {
		case w.ready:
			continue
		case w.requestError != nil:
			fmt.Fprintf(env.Err, "pequod: %s\n", source.Escape(w.requestError.Error(), ""))
			code = max(code, command.ExitUnknown)
			continue
		case errors.Is(context.Cause(ctx), applier.ErrTimeout):
			fmt.Fprintf(env.Err, "pequod: graph %s: not ready after %s (--timeout)\n", w.owner, o.timeout)
		}
		code = max(code, command.ExitNo)
	}
	return command.ExitWith(code)
}
