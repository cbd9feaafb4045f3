// Package worker evaluates CUE in child processes, so that a platform whose module recurses
// or grows without end harms no other platform and not the program.
//
// A [Pool] has one process for each platform that is in use, which keeps the platform loaded, and a second one if its
// queue is long.
// [Pool.Load] loads a platform and generates its CRD, and [Pool.Render] renders an instance
// with the code of the command line. A process ends when it exceeds a limit, when it has been
// idle for some minutes, and with the program; it is started again on demand, from a copy of
// the sources on disk.
//
// [Documents] finds the instances in a file without evaluating anything, and [Pool.RenderDocument]
// renders one of them.
//
// pool.go has the platforms, queue.go decides which platform is next, process.go talks to one
// process, and store.go keeps the sources. Package child is the program of the process, and
// package protocol has the messages.
//
// Non-goals: the package fetches nothing and knows no cluster. It never evaluates CUE itself.
package worker
