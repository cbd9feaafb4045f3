// Package command has what every command of pequod needs and no command owns:
// its streams, its exit codes, the form of its errors, and small helpers for
// flags. It is the lowest room of the command line and imports no other one.
//
// Commands never print an error and never exit. They return an error, and
// cli.Main alone prints it and picks the exit code.
package command

import "io"

// Env is the environment of a command: everything it reads and writes apart
// from files and the network. Tests replace it; cli.Main fills it from the
// process.
type Env struct {
	// In is read by commands that take "-" as a file name, and by prompts.
	In io.Reader
	// Out gets the data that a command produces. Err gets everything else:
	// progress, warnings, summaries and prompts.
	Out, Err io.Writer
	// Getenv looks up an environment variable and reports whether it is set.
	// It serves the search for configuration files; viper (the PEQUOD_* defaults of
	// flags), client-go and the terminal detection read their variables from the
	// process.
	Getenv func(string) (string, bool)
	// Dir is the directory whose pequod.yaml and pequod.lock apply. "" is the working
	// directory.
	Dir string
}
