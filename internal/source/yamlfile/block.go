package yamlfile

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// Block is the lines of a YAML file that are the text of a literal block scalar:
//
//	main.cue: |
//	  package shop
type Block struct {
	// File is the name of the YAML file.
	File string
	// Line is the line of the file, from 1, with the first line of the text, and Indent
	// the number of spaces before each line.
	Line, Indent int
}

// Block returns the lines of the scalar at a path of keys and indexes. It returns false
// if the text of the scalar is not that of lines of the file: folded and quoted scalars
// are none, nor are values of aliases.
func (d Document) Block(path []string) (Block, bool) {
	parent := d.node
	if len(path) > 0 {
		parent = find(d.node, path[:len(path)-1])
	}
	n := find(d.node, path)
	if n == parent || n.Kind != yaml.ScalarNode || n.Style&yaml.LiteralStyle == 0 {
		return Block{}, false
	}
	b := Block{File: d.file.name, Line: cuesyntax.Position(d.file.nodePos(n)).Line + 1, Indent: -1}
	lines := bytes.Split(d.file.data, []byte("\n"))
	for i, want := range strings.Split(strings.TrimSuffix(n.Value, "\n"), "\n") {
		if b.Line-1+i >= len(lines) {
			return Block{}, false
		}
		got := strings.TrimSuffix(string(lines[b.Line-1+i]), "\r")
		if want == "" && strings.TrimSpace(got) == "" {
			continue
		}
		if b.Indent < 0 {
			b.Indent = len(got) - len(want)
		}
		if b.Indent < 0 || got != strings.Repeat(" ", b.Indent)+want {
			return Block{}, false
		}
	}
	b.Indent = max(b.Indent, 0)
	return b, true
}

// Place returns a text that is in the block, such that each line and column of the result
// is the one in the YAML file. Languages in which the indentation of all lines means
// nothing, such as CUE, read the result as they read the text.
func (b Block) Place(text []byte) []byte {
	var out bytes.Buffer
	out.Write(bytes.Repeat([]byte("\n"), b.Line-1))
	indent := bytes.Repeat([]byte(" "), b.Indent)
	for line := range bytes.Lines(text) {
		if len(bytes.TrimRight(line, "\r\n")) > 0 {
			out.Write(indent)
		}
		out.Write(line)
	}
	return out.Bytes()
}
