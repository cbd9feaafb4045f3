// Package instance turns instances of generated kinds into ResourceGraphs, and the state of
// the graphs into the status of the instances.
//
// [Setup] adds it to a manager. The data flow, in the order of the files:
//
//   - controllers.go starts a controller for each kind that package catalog lists, and stops
//     it, with its informer, when the kind is listed no longer.
//   - kind.go is the controller of one kind. Every kind has a queue of its own, so a module
//     that evaluates for long delays only its own instances.
//   - graphs.go gets the graphs that the manager made, and wakes their instances. If this process
//     executes them, the watch is that of their controller, otherwise one of its own.
//     graphview.go keeps of each graph only the parts that are needed here.
//   - reconcile.go handles one instance: it renders (render.go), writes the graph
//     (graphwrite.go) and then the status (statuswrite.go).
//   - version.go chooses the version of the module that an instance is rendered with, and
//     forecasts the effect of another one. member.go shows instances to the executor of rollouts,
//     and counts them, also for the status of the Transform.
//   - status.go composes the status, which is a pure function, with the fields of the module's
//     #Status (ownstatus.go). problems.go writes the
//     messages, and events.go emits Events.
//
// A graph is written by server-side apply if it differs from the rendered one, and is
// otherwise left alone: an instance that is unchanged costs no request after a restart, and a
// rendering only if another build of the program has written its graph. An instance that can't be
// rendered keeps its former graph.
//
// No state that matters is kept in the process only. What a controller remembers of an
// instance saves renderings and bridges the time until its watches show its own writes.
//
// The package neither fetches modules nor executes graphs, and evaluates no CUE: see
// packages operator/transform, applier/controller and operator/worker.
package instance
