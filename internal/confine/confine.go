// Package confine limits with Landlock, which is a part of Linux, what a process may read, write, run and
// connect to. It is for processes that work on what strangers have written: if they are made to do
// something else, the kernel refuses it. The limits hold for all that these processes start, and
// can't be lifted.
//
// A [Room] is what is left to a process. Other systems and older kernels set no limits, or fewer;
// [Missing] tells.
package confine

// Room is what a process may do. With the zero value it may use the files that are open and the null device, and
// nothing else.
type Room struct {
	// Read are files and directories that may be read, the latter with all in them. Write may also be written and Run
	// executed. A name that doesn't exist is left out.
	Read, Write, Run []string
	// Network permits all connections.
	Network bool
}

// Libraries are the directories of shared libraries, which programs that aren't linked statically need in Room.Run.
var Libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store"}
