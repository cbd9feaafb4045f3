package output

import (
	"bytes"
	"io"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/spool"
)

// Printer prints objects to one stream, all of them or none. It keeps them until
// Flush. As kubectl does, it prints several objects as several documents in YAML
// and as a List in JSON. It is not safe for concurrent use.
type Printer struct {
	format string // one of Formats
	held   *spool.Buffer
	n      int // objects printed so far
}

// spoolMemory is the size of the output, in bytes, that is kept in memory. Larger
// output moves to a temporary file.
const spoolMemory = 1 << 20

// NewPrinter returns a printer of objects in one of the [Formats]. Close it after
// use.
func NewPrinter(format string) *Printer {
	return &Printer{format: format, held: spool.New(spoolMemory)}
}

// Print adds an object that [Encode] returned for the printer's format.
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

// Flush writes all objects to w.
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

// Close removes the temporary file, if there is one.
func (p *Printer) Close() error { return p.held.Close() }
