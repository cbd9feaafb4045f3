package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli"
)

// TestShownCommands checks the commands of pequod in blocks of the language sh, which no
// session runs: the command and its flags exist.
func TestShownCommands(t *testing.T) {
	root := cli.Command()
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		inside := false
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case strings.HasPrefix(line, "```"):
				inside = line == "```sh"
			case inside && strings.HasPrefix(line, "pequod "):
				if flag := unknown(root, line); flag != "" {
					t.Errorf("%s:%d: %s: no such command or flag: %s", doc, i+1, line, flag)
				}
			}
		}
	}
}

// unknown returns the first word of a line that begins with pequod which is neither a command
// nor a flag, or "".
func unknown(root *cobra.Command, line string) string {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line)[1:]
	cmd, args, err := root.Find(words)
	if err != nil || cmd == root || cmd.HasSubCommands() {
		return words[0]
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case strings.HasPrefix(arg, "--") && cmd.Flag(name) == nil,
			strings.HasPrefix(arg, "-") && len(arg) == 2 && cmd.Flags().ShorthandLookup(arg[1:]) == nil:
			return arg
		}
	}
	return ""
}
