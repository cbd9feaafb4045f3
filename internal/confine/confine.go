// Package confine limits with Landlock, which is a part of Linux, what a process may read, write, run and
// connect to. It is for processes that work on what strangers have written: if they are made to do
// something else, the kernel refuses it. The limits hold for all that these processes start, and
// can't be lifted.
//
// A [Room] lists what a process may still do. Other systems and older kernels enforce no limits, or
// fewer. [Missing] returns which limits the kernel doesn't support.
package confine

import (
	"slices"
	"sync/atomic"
)

// Room lists the access of a process. The zero value permits only open files and the null device.
type Room struct {
	// Read are files and directories that may be read, the latter with all in them. Write may also be written and Run
	// executed. A name that doesn't exist is left out.
	Read, Write, Run []string
	// Empty are directories in which empty directories may be removed.
	Empty []string
	// Network permits all connections. Ports are ports of TCP that may be connected to without it.
	Network bool
	Ports   []uint16
}

// entered is set by Enter.
var entered atomic.Bool

// Entered reports whether this process has entered a room.
func Entered() bool { return entered.Load() }

// And returns a room with the access of two.
func (r Room) And(other Room) Room {
	return Room{
		Read: slices.Concat(r.Read, other.Read), Write: slices.Concat(r.Write, other.Write), Run: slices.Concat(r.Run, other.Run),
		Empty: slices.Concat(r.Empty, other.Empty), Network: r.Network || other.Network, Ports: slices.Concat(r.Ports, other.Ports),
	}
}

// Libraries are the directories of shared libraries, which programs that aren't linked statically need in Room.Run.
var Libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store"}
