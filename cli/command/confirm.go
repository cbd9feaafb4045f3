package command

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// Interactive reports whether stdin is a terminal, where a user can answer a prompt.
func Interactive(env Env) bool {
	file, ok := env.In.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Confirm prompts for confirmation on stderr, and reports whether the answer is y or yes. The end
// of the input is no. If stdin is not a terminal, the error names the command and --yes.
func Confirm(ctx context.Context, env Env, name, question string) (bool, error) {
	if !Interactive(env) {
		return false, fmt.Errorf("%s prompts for confirmation, and stdin is not a terminal; use --yes to skip the prompt", name)
	}
	fmt.Fprintf(env.Err, "%s [y/N] ", question)
	// A read from a terminal can't be canceled. On an interrupt, the process
	// ends and the goroutine with it.
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(env.In).ReadString('\n') // an error counts as no
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case answer := <-answers:
		return answer == "y" || answer == "yes", nil
	}
}
