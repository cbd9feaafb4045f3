package ui

import (
	"context"
	"os/exec"
	"runtime"
)

// openBrowser opens an address in the browser of the user. Other users of the machine may
// see the address among the arguments of a process, but it can be opened only once.
func openBrowser(ctx context.Context, address string) error {
	program := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		program = []string{"open"}
	case "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	// The browser outlives this program if it is the one that starts it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program[0], append(program[1:], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // its result tells nothing: some programs wait for the browser
	return nil
}
