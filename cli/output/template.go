package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"

	"github.com/pequod-io/pequod/cli/command"
)

// templateFormats are the formats with an argument, as in "jsonpath=TEMPLATE". They
// are those of kubectl.
var templateFormats = []string{
	"jsonpath", "jsonpath-as-json", "jsonpath-file", "go-template", "go-template-file", "custom-columns", "custom-columns-file",
}

// Choice registers the flag -o of a command that prints data with a JSON form. Its
// values are those in allowed and kubectl's formats with a template. A template that
// can't be parsed is an error before the command runs.
func Choice(cmd *cobra.Command, target *string, value string, allowed []string) {
	usage := fmt.Sprintf("output format: %s; or a template as in kubectl: %s=...", strings.Join(allowed, ", "), strings.Join(templateFormats, "=..., "))
	cmd.Flags().StringVarP(target, "output", "o", value, usage)
	completions := slices.Clone(allowed)
	for _, format := range templateFormats {
		completions = append(completions, format+"=")
	}
	command.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)))
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		if slices.Contains(allowed, *target) {
			return nil
		}
		format, _, ok := strings.Cut(*target, "=")
		if !ok || !slices.Contains(templateFormats, format) {
			return fmt.Errorf("--output %q: want one of %s, or a template such as jsonpath=TEMPLATE", *target, strings.Join(allowed, ", "))
		}
		if strings.HasSuffix(format, "-file") && !cmd.Flags().Changed("output") {
			// The pequod.yaml of a repository may set -o, but not read any file.
			return fmt.Errorf("--output %s: files are read only if the flag is on the command line", format)
		}
		_, err := newTemplate(*target)
		return err
	}
}

// IsTemplate reports whether a format that [Choice] accepted is one with a template.
func IsTemplate(format string) bool { return strings.Contains(format, "=") }

// Answer is the output of a command in each format of [Choice].
type Answer struct {
	// Root is the value for JSON, YAML and templates.
	Root any
	// Names are the objects as kubectl names them.
	Names []string
	// Text returns the answer in all other formats. If Empty is set, it is a message on stderr
	// instead.
	Text  func() string
	Empty string
}

// Write prints the answer in a format of -o.
func (a Answer) Write(env command.Env, format string) error {
	switch {
	case format == "json" || format == "yaml":
		return Write(env.Out, format, a.Root)
	case IsTemplate(format):
		return WriteTemplate(env.Out, format, a.Root)
	case format == "name":
		for _, name := range a.Names {
			if _, err := fmt.Fprintln(env.Out, name); err != nil {
				return err
			}
		}
		return nil
	case a.Empty != "":
		fmt.Fprintln(env.Err, "pequod: "+a.Empty)
		return nil
	}
	_, err := io.WriteString(env.Out, a.Text())
	return err
}

// WriteTemplate writes a value in a format with a template. value is what -o json
// prints: custom-columns prints a row for each object in the list that is the value or
// its only field. jsonpath and go-template see a list as {items: [...]}.
func WriteTemplate(w io.Writer, format string, value any) error {
	print, err := newTemplate(format)
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var generic any
	if err := utiljson.Unmarshal(data, &generic); err != nil {
		return err
	}
	if list, ok := generic.([]any); ok {
		generic = map[string]any{"items": list}
	}
	root, ok := generic.(map[string]any)
	if !ok {
		return fmt.Errorf("no template can be applied to a %T", generic)
	}
	// A template that fails leaves no half of an output.
	var out bytes.Buffer
	if err := print(&out, root); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return command.OutputError(err)
}

// newTemplate parses a format with a template and returns the function that applies
// it.
func newTemplate(format string) (func(w io.Writer, root map[string]any) error, error) {
	name, argument, _ := strings.Cut(format, "=")
	fail := func(err error) error { return fmt.Errorf("--output %s: %w", name, err) }
	if argument == "" {
		return nil, fail(errors.New("the template is missing"))
	}
	switch name {
	case "custom-columns":
		columns, err := parseColumns(argument)
		if err != nil {
			return nil, fail(err)
		}
		return func(w io.Writer, root map[string]any) error { return printColumns(w, columns, rows(root)) }, nil
	case "custom-columns-file":
		columns, err := readColumns(argument)
		if err != nil {
			return nil, fail(command.FileError(err))
		}
		return func(w io.Writer, root map[string]any) error { return printColumns(w, columns, rows(root)) }, nil
	}
	printer, err := genericclioptions.NewKubeTemplatePrintFlags().ToPrinter(format)
	if err != nil {
		return nil, fail(command.FileError(err))
	}
	return func(w io.Writer, root map[string]any) error {
		if err := printer.PrintObj(&unstructured.Unstructured{Object: root}, w); err != nil {
			// The printers add the template and the whole object.
			text, _, _ := strings.Cut(err.Error(), ". Printing more information")
			if i := strings.LastIndex(text, "Error executing template: "); i >= 0 {
				text = text[i+len("Error executing template: "):]
			}
			return fail(errors.New(text))
		}
		return nil
	}, nil
}

// column is one column of custom-columns.
type column struct {
	header string
	value  *jsonpath.JSONPath
}

// parseColumns parses HEADER:PATH,HEADER:PATH.
func parseColumns(text string) ([]column, error) {
	var columns []column
	for _, part := range strings.Split(text, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, fmt.Errorf("column %q: want HEADER:PATH, such as NAME:.name", part)
		}
		c, err := newColumn(header, path)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// readColumns reads a file with a line of headers and a line of paths.
func readColumns(file string) ([]column, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 2 {
		return nil, fmt.Errorf("%s: want two lines, the headers and the paths", file)
	}
	headers, paths := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(headers) != len(paths) {
		return nil, fmt.Errorf("%s: %d headers and %d paths", file, len(headers), len(paths))
	}
	var columns []column
	for i, header := range headers {
		c, err := newColumn(header, paths[i])
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// newColumn parses the path of a column. As in kubectl, the braces and the first dot
// may be left out.
func newColumn(header, path string) (column, error) {
	inner := strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	if !strings.HasPrefix(inner, ".") && !strings.HasPrefix(inner, "[") {
		inner = "." + inner
	}
	value := jsonpath.New(header).AllowMissingKeys(true)
	if err := value.Parse("{" + inner + "}"); err != nil {
		return column{}, fmt.Errorf("column %s: %w", header, err)
	}
	return column{header, value}, nil
}

// rows returns the objects that custom-columns prints: the items of the only list in
// root, or root itself.
func rows(root map[string]any) []any {
	if len(root) == 1 {
		for _, v := range root {
			if list, ok := v.([]any); ok {
				return list
			}
		}
	}
	return []any{root}
}

// printColumns prints a table. A missing value is <none>.
func printColumns(w io.Writer, columns []column, rows []any) error {
	table := printers.GetNewTabWriter(w)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.header
	}
	fmt.Fprintln(table, strings.Join(line, "\t"))
	for _, row := range rows {
		for i, c := range columns {
			results, err := c.value.FindResults(row)
			if err != nil {
				return err
			}
			var values []string
			for _, result := range results {
				for _, v := range result {
					values = append(values, cell(v.Interface()))
				}
			}
			line[i] = strings.Join(values, ",")
			if len(values) == 0 {
				line[i] = "<none>"
			}
		}
		fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	return table.Flush()
}

// cell returns a value as one line: lists and objects are JSON.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "<none>"
	case map[string]any, []any:
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(fmt.Sprint(v))
}
