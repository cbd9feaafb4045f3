package yamlfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// startsAsJSON reports whether the file begins with a brace. kubectl takes such a file for
// JSON.
func (f *file) startsAsJSON() bool {
	data := bytes.TrimLeft(f.data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// json reads a file of JSON objects, which starts as JSON. Not all JSON means the
// same as YAML, so the YAML library can't read it. json returns nil if the file is
// not JSON throughout; such files are read as YAML.
func (f *file) json() []*yaml.Node {
	r := &jsonReader{file: f, dec: json.NewDecoder(bytes.NewReader(f.data)), line: 1, column: 1}
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

// jsonReader builds the nodes that the YAML library would build, with
// positions.
type jsonReader struct {
	file *file
	dec  *json.Decoder
	// offset is the byte up to which line and column are counted. Both begin at
	// 1.
	offset       int
	line, column int
}

// errDepth makes json give up. The file is then read as YAML, and the converter
// reports the depth.
var errDepth = errors.New("too deep")

// value reads one value with everything below it. At the end of the input it
// returns io.EOF. The keys of an object are read as values too, so that they
// alternate in the content of the node, as in a node of the YAML library.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	r.setPosition(n)
	switch tok := tok.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if tok == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.dec.More() {
			c, err := r.value(depth + 1)
			if err != nil {
				return nil, unexpectedEOF(err)
			}
			n.Content = append(n.Content, c)
		}
		_, err := r.dec.Token()
		return n, unexpectedEOF(err)
	case string:
		n.Tag, n.Style, n.Value = "!!str", yaml.DoubleQuotedStyle, tok
	// The tag stays empty. The YAML library then resolves it from the text.
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

// unexpectedEOF marks the end of input inside a value, so that it is not taken
// for the regular end of the file.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// setPosition sets the position of a node to that of the token that was read
// last. The decoder only reports where the token ends, so setPosition skips the
// separators behind the token before.
func (r *jsonReader) setPosition(n *yaml.Node) {
	for r.offset < len(r.file.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.file.data[r.offset]) >= 0 {
		r.next()
	}
	n.Line, n.Column = r.line, r.column
	for r.offset < int(r.dec.InputOffset()) {
		r.next()
	}
}

// next counts one character. It ends lines where newFile ends them.
func (r *jsonReader) next() {
	c, size := utf8.DecodeRune(r.file.data[r.offset:])
	r.offset += size
	switch {
	case c == '\r' && r.offset < len(r.file.data) && r.file.data[r.offset] == '\n':
		r.column++
	case c == '\n', c == '\r', c == '\u0085', c == '\u2028', c == '\u2029':
		r.line, r.column = r.line+1, 1
	default:
		r.column++
	}
}
