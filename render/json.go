package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// json reads a file of JSON objects, as kubectl does with what begins with a
// brace: not all JSON means the same as YAML. It gives nil where the file isn't
// JSON throughout, or holds none; such files are read as YAML.
func (s *yamlFile) json() []*yaml.Node {
	if data := bytes.TrimLeft(s.data, " \t\r\n"); len(data) == 0 || data[0] != '{' {
		return nil
	}
	r := &jsonReader{src: s, dec: json.NewDecoder(bytes.NewReader(s.data)), line: 1, column: 1}
	r.dec.UseNumber()
	var docs []*yaml.Node
	for {
		n, err := r.value(0)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil || n.Kind != yaml.MappingNode {
			return nil
		}
		docs = append(docs, n)
	}
}

// jsonReader makes of JSON the nodes that the YAML library would, at their
// places.
type jsonReader struct {
	src *yamlFile
	dec *json.Decoder
	// at is how far the places were counted.
	at           int
	line, column int
}

var errDepth = errors.New("too deep")

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > maxYAMLDepth {
		return nil, errDepth
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	r.place(n)
	switch tok := tok.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if tok == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.dec.More() {
			c, err := r.value(depth + 1)
			if err != nil {
				return nil, unexpected(err)
			}
			n.Content = append(n.Content, c)
		}
		_, err := r.dec.Token()
		return n, unexpected(err)
	case string:
		n.Tag, n.Style, n.Value = "!!str", yaml.DoubleQuotedStyle, tok
	case json.Number:
		n.Value = tok.String()
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if tok {
			n.Value = "true"
		}
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}

// unexpected keeps the end of a file inside of a value from looking like the end
// of the file.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// place gives a node the place of the token that was read last: behind what lies
// between it and the token before it.
func (r *jsonReader) place(n *yaml.Node) {
	for r.at < len(r.src.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src.data[r.at]) >= 0 {
		r.step()
	}
	n.Line, n.Column = r.line, r.column
	for r.at < int(r.dec.InputOffset()) {
		r.step()
	}
}

// step goes on by one character, counting lines as the source does.
func (r *jsonReader) step() {
	c, size := utf8.DecodeRune(r.src.data[r.at:])
	r.at += size
	switch {
	case c == '\r' && r.at < len(r.src.data) && r.src.data[r.at] == '\n':
		r.column++
	case c == '\n', c == '\r', c == '\u0085', c == '\u2028', c == '\u2029':
		r.line, r.column = r.line+1, 1
	default:
		r.column++
	}
}
