// Package tied starts programs of tests that end with the test binary, also if it is killed and can't
// stop them.
//
// [Start] is the entry point.
package tied

import (
	"os/exec"
	"syscall"
)

// script executes a program in place of the shell, and beside it waits for the end of the standard
// input. Then it kills the process group. It must not hold the output of the program open.
const script = `exec 3<&0
{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null`

// Start starts a command in a process group of its own, without an input. The group is killed when the
// command has ended and was waited for, or when this process has ended in whatever way. The process of
// the command is the program itself.
func Start(cmd *exec.Cmd) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	cmd.Args = append([]string{"sh", "-c", script, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = shell
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	// The kernel closes its other end with this process, and Wait does when the program has ended.
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	return cmd.Start()
}
