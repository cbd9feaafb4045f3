// Package incluster has what the programs in a cluster, pequod-applier and
// pequod-manager, have in common: the flags of the process and of the execution of
// graphs, --help and --version, logging, signals, exit codes, and the way to the API
// server.
//
// [Program.Run] is the entry point of their main packages. A program adds its own flags
// and serves; see [Program].
//
// Non-goals: the package starts no controllers, and reads no configuration other than
// flags.
package incluster
