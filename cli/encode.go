package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/cli/spool"
)

// objectFormats are the values of -o of commands that print objects.
var objectFormats = []string{"yaml", "json", "name"}

// encode writes one object in one of objectFormats, keys sorted.
func encode(format string, object any, name string) ([]byte, error) {
	if format == "name" {
		return []byte(name + "\n"), nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	// Through a generic value, so that the keys of typed and untyped objects
	// come out in one order.
	var generic any
	if err := utiljson.Unmarshal(data, &generic); err != nil {
		return nil, err
	}
	if format == "json" {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "    ")
		err := enc.Encode(generic)
		return b.Bytes(), err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(generic); err != nil {
		return nil, err
	}
	err = enc.Close()
	return b.Bytes(), err
}

// objectPrinter prints objects to one stream, all of them or none: they are kept
// until flush. Several objects are several documents in YAML and a List in JSON,
// as kubectl prints them.
type objectPrinter struct {
	format string
	held   *spool.Buffer
	n      int
}

// spoolMemory is how much of the output is kept in memory, in bytes; the rest
// goes to a temporary file.
const spoolMemory = 1 << 20

func newObjectPrinter(format string) *objectPrinter {
	return &objectPrinter{format: format, held: spool.New(spoolMemory)}
}

func (p *objectPrinter) print(data []byte) error {
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

func (p *objectPrinter) flush(w io.Writer) error {
	if p.format != "json" || p.n == 0 {
		return outputError(p.held.CopyTo(w))
	}
	head, tail := "", "\n"
	if p.n > 1 {
		head, tail = "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n", "\n]}\n"
	}
	if _, err := io.WriteString(w, head); err != nil {
		return outputError(err)
	}
	if err := p.held.CopyTo(w); err != nil {
		return outputError(err)
	}
	_, err := io.WriteString(w, tail)
	return outputError(err)
}

func (p *objectPrinter) close() error { return p.held.Close() }

// outputError names stdout, whose name the operating system doesn't know.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing output: %w", err)
}

// oneOf checks the value of a flag.
func oneOf(flag, value string, allowed []string) error {
	for _, a := range allowed {
		if a == value {
			return nil
		}
	}
	return fmt.Errorf("%s %q: want one of %s", flag, value, strings.Join(allowed, ", "))
}
