// Package child is the child process of package worker: it loads one platform and evaluates
// its CUE for the pool. [Serve] is the program.
//
// A child gets everything from its standard input. It reads no files, environment, network
// or cluster, and ends with its input, and after an evaluation that exceeded a limit,
// because CUE can't be interrupted.
package child
