// Package program is what surrounds controllers when they run as a program in a
// cluster: the metrics endpoint, the probes, leader election, logs, and an end
// that leaves nothing behind.
//
// [Run] is the entry point. It knows no controller: [Options.Setup] adds them.
// It reads neither flags nor the environment; package main of the program does.
package program
