package author

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/actions/simulate"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/outside"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render/ownkinds"
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
and nothing is done. The Monitor is checked as the API server and pequod-actions do.

The recording is YAML or JSON: one answer of the server, such as {"data": {…}} of a GraphQL
server, or a list of {at, target, answer, error}. at is the time since the begin, such as
90s, and target the name of a Pod. Answers with the same time are one poll. For the probe http,
an answer is {status, headers, body}, and for the probe object it is the object.

The exit code is 0 if the answers were played; 1 if the Monitor or the recording is wrong; 2
if a file could not be read.`,
		Example: `  pequod monitor test -f monitor.yaml --state state.json`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&o.filenames, "filename", "f", nil, "file with the Monitor")
	fl.StringVar(&o.state, "state", "", "file with the recorded answers")
	command.Must(cmd.MarkFlagRequired("filename"))
	command.Must(cmd.MarkFlagRequired("state"))
	return cmd
}

// run prints one line for each poll of a target.
func (o *monitorTestOptions) run(ctx context.Context, env command.Env) error {
	if len(o.filenames) != 1 {
		return errors.New("--filename: one Monitor is tested at a time")
	}
	file, raw, err := document(ctx, o.filenames[0])
	if err != nil {
		return err
	}
	recording, recorded, err := document(ctx, o.state)
	if err != nil {
		return err
	}
	m, err := monitorOf(file, raw)
	if err != nil {
		return err
	}
	plan, err := verdict.Compile(m)
	if err != nil {
		return located(file, outside.Problems(err))
	}
	answers, err := simulate.ReadRecording(recorded)
	if err != nil {
		return recording.Problem(err)
	}
	lines, err := simulate.Run(m, plan, answers)
	if wrong := (*simulate.WrongAnswer)(nil); errors.As(err, &wrong) {
		return located(recording, problem.List{{Path: wrong.Path, Rule: problem.RuleInstance, Message: wrong.Err.Error()}})
	}
	if err != nil {
		return err
	}
	return command.OutputError(printLines(env.Out, lines))
}

// document returns the only document of a file, and its JSON.
func document(ctx context.Context, name string) (doc yamlfile.Document, raw []byte, err error) {
	text, err := files.ReadFile(ctx, name)
	if err != nil {
		return doc, nil, err
	}
	docs, err := yamlfile.Parse(name, text)
	switch {
	case err != nil:
		return doc, nil, err
	case len(docs) != 1:
		return doc, nil, problem.List{{
			Position: problem.Position{File: name}, Rule: problem.RuleInstance, Message: fmt.Sprintf("has %d documents, want one", len(docs)),
		}}
	}
	raw, err = yaml.YAMLToJSON(text)
	return docs[0], raw, err
}

// monitorOf returns the Monitor in a document, or what the API server would refuse.
func monitorOf(doc yamlfile.Document, raw []byte) (*v1alpha1.Monitor, error) {
	if kind, version := doc.Text("kind"), doc.Text("apiVersion"); kind != "Monitor" || version != v1alpha1.GroupVersion.String() {
		return nil, doc.Problem(fmt.Errorf("must be a Monitor of %s", v1alpha1.GroupVersion))
	}
	var object map[string]any
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return nil, doc.Problem(err)
	}
	if found := ownkinds.Catalog().Check(object); len(found) > 0 {
		return nil, located(doc, found)
	}
	m := &v1alpha1.Monitor{}
	return m, doc.Decode(m)
}

// located returns the problems of a document at their lines.
func located(doc yamlfile.Document, found problem.List) problem.List {
	for i := range found {
		found[i].Position = doc.At(found[i].Path)
	}
	return found.Sorted()
}

func printLines(to io.Writer, lines []simulate.Line) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tTARGET\tRESULT")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\t%s\n", l.At, l.Target, l.Text)
	}
	return w.Flush()
}
