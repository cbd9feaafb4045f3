package yamlfile

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"cuelang.org/go/cue/token"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// file is one YAML or JSON file. It is not changed after newFile.
type file struct {
	name string
	// data is the content without a byte order mark and with a final line feed.
	data []byte
	// positions converts character offsets, not byte offsets, so that columns
	// count characters.
	positions *token.File
	// lines holds the character offset at which each line begins.
	lines []int
	// bareTags holds the character offsets where a bare tag "!" may stand.
	bareTags map[int]bool
	// separators are the lines that begin with ---, in order.
	separators []separator
}

// separator is a line that begins with ---. The text behind the hyphens does not
// matter for kubectl: ---x separates, too.
type separator struct {
	line       int // from 1
	start, end int // byte offsets; end is behind the line feed
}

// bareTag matches a tag that is nothing but "!", and an anchor before it.
var bareTag = lazyregexp.New(`(&\S+\s+)?!\s`)

// byteOrderMark is the UTF-8 byte order mark, which some editors put at the start
// of a file. One is skipped.
var byteOrderMark = []byte("\ufeff")

// newFile scans the content once for lines, separators and bare tags.
func newFile(name string, data []byte) *file {
	f := &file{name: name, data: bytes.TrimPrefix(data, byteOrderMark), lines: []int{0}}
	if n := len(f.data); n > 0 && f.data[n-1] != '\n' {
		// kubectl ends the last line too. It matters for block scalars.
		f.data = slices.Concat(f.data, []byte{'\n'})
	}
	chars := 0
	f.addSeparator(0)
	for i := 0; i < len(f.data); {
		r, size := utf8.DecodeRune(f.data[i:])
		i += size
		chars++
		if r == '\r' && i < len(f.data) && f.data[i] == '\n' {
			continue
		}
		// YAML 1.1 ends lines at all of these, and the YAML library counts
		// lines so.
		switch r {
		case '\n', '\r', '\u0085', '\u2028', '\u2029':
			f.lines = append(f.lines, chars)
			if r == '\n' {
				f.addSeparator(i)
			}
		}
	}
	f.findBareTags()
	f.positions = token.NewFile(name, -1, chars+1)
	f.positions.SetLines(f.lines)
	return f
}

// findBareTags fills in bareTags. A match may be text inside a string; it does
// harm only if a node of another type than string begins there.
func (f *file) findBareTags() {
	f.bareTags = map[int]bool{}
	at, chars := 0, 0
	for _, m := range bareTag().FindAllIndex(f.data, -1) {
		chars += utf8.RuneCount(f.data[at:m[0]])
		at = m[0]
		f.bareTags[chars] = true
	}
}

// addSeparator records the line that begins at a byte offset if it is a
// separator.
func (f *file) addSeparator(start int) {
	if !bytes.HasPrefix(f.data[start:], []byte("---")) {
		return
	}
	end := len(f.data)
	if i := bytes.IndexByte(f.data[start:], '\n'); i >= 0 {
		end = start + i + 1
	}
	f.separators = append(f.separators, separator{len(f.lines), start, end})
}

// pos returns the position of a line and a column, both from 1. A line that
// does not exist yields the start of the file.
func (f *file) pos(line, column int) token.Pos {
	if line < 1 || line > len(f.lines) {
		return f.positions.Pos(0, token.NoRelPos)
	}
	return f.positions.Pos(min(f.lines[line-1]+column-1, f.positions.Size()), token.NoRelPos)
}

// charPos returns the position of a character offset.
func (f *file) charPos(offset int) token.Pos { return f.positions.Pos(offset, token.NoRelPos) }

// nodePos returns the position at which a node begins.
func (f *file) nodePos(n *yaml.Node) token.Pos { return f.pos(n.Line, n.Column) }

// hasBareTag reports whether a node has the tag "!". The YAML library does not
// keep that tag.
func (f *file) hasBareTag(n *yaml.Node) bool {
	return n.Line >= 1 && n.Line <= len(f.lines) && f.bareTags[f.lines[n.Line-1]+n.Column-1]
}

// problem returns a list of one problem about the YAML of the file.
func (f *file) problem(at token.Pos, hint, format string, args ...any) problem.List {
	return problem.List{{Position: cuesyntax.Position(at), Rule: problem.RuleYAML, Message: fmt.Sprintf(format, args...), Hint: hint}}
}
