package author

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/actions/simulate"
	"github.com/pequod-io/pequod/cli/command"
)

// monitorTestOptions are the flags of monitor test.
type monitorTestOptions struct {
	// filenames has one file, which has the Monitor.
	filenames []string
	// state is the file with the recorded answers.
	state string
}

// newMonitorTestCommand returns the command "monitor test".
func newMonitorTestCommand(env command.Env) *cobra.Command {
	o := &monitorTestOptions{}
	cmd := &cobra.Command{
		Use:   "test -f MONITOR --state RECORDING",
		Short: "Show which rules of a Monitor fire for recorded answers",
		Long: `Play recorded answers to a Monitor, and show which of its rules would fire. Nothing is sent
and nothing is done.

The recording is YAML or JSON: one answer of the server, such as {"data": {…}} of a GraphQL
server, or a list of {at, target, answer, error}. at is the time since the begin, such as
90s, and target the name of a Pod. Answers with the same time are one poll. For the probe http,
an answer is {status, headers, body}, and for the probe object it is the object.`,
		Example: `  pequod monitor test -f monitor.yaml --state state.json`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return o.run(env) },
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&o.filenames, "filename", "f", nil, "file with the Monitor")
	fl.StringVar(&o.state, "state", "", "file with the recorded answers")
	command.Must(cmd.MarkFlagRequired("filename"))
	command.Must(cmd.MarkFlagRequired("state"))
	return cmd
}

// run prints one line for each poll of a target. The exit code is 1 if the Monitor or the
// recording is wrong, and 2 if they can't be read.
func (o *monitorTestOptions) run(env command.Env) error {
	if len(o.filenames) != 1 {
		return errors.New("--filename: one Monitor is tested at a time")
	}
	file := o.filenames[0]
	text, err := os.ReadFile(file)
	if err != nil {
		return command.FileError(err)
	}
	recorded, err := os.ReadFile(o.state)
	if err != nil {
		return command.FileError(err)
	}
	m, err := simulate.ReadMonitor(text)
	if err != nil {
		return o.wrong(env, file, err)
	}
	answers, err := simulate.ReadRecording(recorded)
	if err != nil {
		return o.wrong(env, o.state, err)
	}
	lines, err := simulate.Run(m, answers)
	if err != nil {
		return o.wrong(env, file, err)
	}
	return command.OutputError(printLines(env.Out, lines))
}

// wrong prints the mistakes in a file, one in each line.
func (o *monitorTestOptions) wrong(env command.Env, file string, err error) error {
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintf(env.Err, "%s: %s\n", file, line)
	}
	return command.ExitError{Code: command.ExitNo}
}

func printLines(to io.Writer, lines []simulate.Line) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tTARGET\tRESULT")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\t%s\n", l.At, l.Target, l.Text)
	}
	return w.Flush()
}
