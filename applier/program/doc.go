// Package program runs controllers as a program in a cluster. It provides the
// metrics endpoint, the probes, leader election, logging, and a shutdown that
// completes requests in flight and releases the lease.
//
// [Run] is the entry point. The package knows no controllers: [Options.Setup]
// adds them to the manager. It reads neither flags nor the environment; the main
// package of the program does.
package program
