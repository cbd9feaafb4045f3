// Package controller executes the ResourceGraphs of a cluster.
//
// [Setup] adds it to a manager. The data flow, in the order of the files:
//
//   - watchgraphs.go watches the graphs. In pequod-manager, the controllers of instances get them
//     from the same watch. If several replicas execute them, division.go
//     drops those of others. Every other graph has a driver (driver.go), and other
//     goroutines leave changes and answers in its inbox (inbox.go).
//   - controller.go steps a driver on a worker whenever its inbox has something
//     new or its time has come. A step never waits for a request (driverstep.go).
//     driverobserve.go handles changes of objects, and driverhost.go what a run
//     reports to its driver.
//   - goal.go derives from a graph what has to be done for it. If the goal
//     changes, the current run is ended and another one begins.
//   - run.go is one run: prepare.go begins it, for which prerequisites.go reads the
//     graph, its account and its inventory and adds the finalizer; actions.go carries out the actions of the
//     engine; finish.go completes, stalls or suspends the graph, or removes the
//     finalizer; failures.go ends a run that failed.
//   - statuswrite.go writes the status, and with it the inventory. Package status
//     composes it.
//   - report.go reports what happened to nodes as metrics and Events; events.go
//     emits Events; recorder.go is the interface of the metrics.
//   - objects.go hands observations of objects to the engine of the run, or to
//     the engine's snapshot if nothing has to be done. Package share watches them.
//   - destinations.go has the other clusters of graphs with spec.kubeConfig;
//     kubeconfig.go and driversecret.go read and watch the Secrets that lead there.
//   - retries.go decides when a graph that failed is tried again; accountevent.go has the
//     changes that it may wait for.
//
// Requests for a graph's objects are made as the graph's service account,
// requests for graphs and Events as the applier.
//
// A graph's inventory is kept in its status. It is written before the first
// object is (the intent) and again with the result. In the first run of a graph, the
// finalizer replaces the intent, unless the run takes long: objects of a graph with the
// finalizer and without an inventory are searched for. A completed graph costs a
// few hundred bytes per object ([engine.Snapshot]) and no requests until one of
// its objects changes. No state that matters is kept in the process only, so it
// may be killed at any time.
//
// The package doesn't decide what to do with objects (package engine) and
// doesn't send requests for them (packages execute and cluster).
package controller
