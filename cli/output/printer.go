package output

import (
	"bufio"
	"bytes"
	"io"

	"github.com/pequod-io/pequod/cli/command"
)

// Print prints objects that [Encode] returned for one of the [Formats]. As kubectl
// does, it prints several objects as several documents in YAML and as a List in JSON,
// and begins KYAML with a separator.
func Print(w io.Writer, format string, objects [][]byte) error {
	head, separator, tail := "", "", ""
	switch {
	case format == "yaml":
		separator = "---\n"
	case format == "kyaml" && len(objects) > 0:
		head, separator = "---\n", "---\n"
	case format == "json" && len(objects) > 1:
		head, separator, tail = "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n", ",\n", "\n]}\n"
	}
	// The buffer keeps the first error of w for Flush.
	out := bufio.NewWriterSize(w, 1<<16)
	_, _ = out.WriteString(head)
	for i, data := range objects {
		if i > 0 {
			_, _ = out.WriteString(separator)
		}
		if tail != "" {
			data = bytes.TrimSuffix(data, []byte("\n"))
		}
		_, _ = out.Write(data)
	}
	_, _ = out.WriteString(tail)
	return command.OutputError(out.Flush())
}
