package output

import (
	"bytes"
	"io"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/spool"
)

// objectPrinter prints objects to one stream, all of them or none: they are kept
// until flush. Several objects are several documents in YAML and a List in JSON,
// as kubectl prints them.
type Printer struct {
	format string
	held   *spool.Buffer
	n      int
}

// spoolMemory is how much of the output is kept in memory, in bytes; the rest
// goes to a temporary file.
const spoolMemory = 1 << 20

func NewPrinter(format string) *Printer {
	return &Printer{format: format, held: spool.New(spoolMemory)}
}

func (p *Printer) Print(data []byte) error {
	p.n++
	if p.n > 1 {
		sep := map[string]string{"yaml": "---\n", "json": ",\n"}[p.format]
		if p.format == "json" {
			data = bytes.TrimSuffix(data, []byte("\n"))
		}
		if _, err := io.WriteString(p.held, sep); err != nil {
			return err
		}
	} else if p.format == "json" {
		data = bytes.TrimSuffix(data, []byte("\n"))
	}
	_, err := p.held.Write(data)
	return err
}

func (p *Printer) Flush(w io.Writer) error {
	if p.format != "json" || p.n == 0 {
		return command.OutputError(p.held.CopyTo(w))
	}
	head, tail := "", "\n"
	if p.n > 1 {
		head, tail = "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n", "\n]}\n"
	}
	if _, err := io.WriteString(w, head); err != nil {
		return command.OutputError(err)
	}
	if err := p.held.CopyTo(w); err != nil {
		return command.OutputError(err)
	}
	_, err := io.WriteString(w, tail)
	return command.OutputError(err)
}

func (p *Printer) Close() error { return p.held.Close() }
