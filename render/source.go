package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue/token"
	"go.yaml.in/yaml/v3"
)

// yamlFile is one YAML or JSON file. Offsets in its token.File count characters,
// so that columns do.
type yamlFile struct {
	name  string
	data  []byte
	file  *token.File
	lines []int
	// bare is where there may be a tag that is nothing but "!".
	bare map[int]bool
	// separators are the lines that begin with ---, as places in data.
	separators []separator
}

type separator struct {
	line       int
	start, end int
}

var bareTag = regexp.MustCompile(`(&\S+\s+)?!\s`)

var bom = []byte("\ufeff")

func newYAMLFile(name string, data []byte) *yamlFile {
	s := &yamlFile{name: name, data: bytes.TrimPrefix(data, bom), lines: []int{0}}
	if n := len(s.data); n > 0 && s.data[n-1] != '\n' {
		// kubectl ends the last line, which a block of text may stand on.
		s.data = slices.Concat(s.data, []byte{'\n'})
	}
	n := 0
	s.separator(0)
	for i := 0; i < len(s.data); {
		r, size := utf8.DecodeRune(s.data[i:])
		i += size
		n++
		if r == '\r' && i < len(s.data) && s.data[i] == '\n' {
			continue
		}
		// YAML 1.1 ends lines at these, and so does the parser's count.
		switch r {
		case '\n', '\r', '\u0085', '\u2028', '\u2029':
			s.lines = append(s.lines, n)
			if r == '\n' {
				s.separator(i)
			}
		}
	}
	s.findBareTags()
	s.file = token.NewFile(name, -1, n+1)
	s.file.SetLines(s.lines)
	return s
}

func (s *yamlFile) findBareTags() {
	s.bare = map[int]bool{}
	at, n := 0, 0
	for _, m := range bareTag.FindAllIndex(s.data, -1) {
		n += utf8.RuneCount(s.data[at:m[0]])
		at = m[0]
		s.bare[n] = true
	}
}

// separator notes a line that begins with --- at a place in the data.
func (s *yamlFile) separator(start int) {
	if !bytes.HasPrefix(s.data[start:], []byte("---")) {
		return
	}
	end := len(s.data)
	if i := bytes.IndexByte(s.data[start:], '\n'); i >= 0 {
		end = start + i + 1
	}
	s.separators = append(s.separators, separator{len(s.lines), start, end})
}

// pos gives the place of a line and a column, both from 1.
func (s *yamlFile) pos(line, column int) token.Pos {
	if line < 1 || line > len(s.lines) {
		return s.file.Pos(0, token.NoRelPos)
	}
	return s.file.Pos(min(s.lines[line-1]+column-1, s.file.Size()), token.NoRelPos)
}

// bareTag says whether a node has the tag "!", which the library forgets.
func (s *yamlFile) bareTag(n *yaml.Node) bool {
	return n.Line >= 1 && n.Line <= len(s.lines) && s.bare[s.lines[n.Line-1]+n.Column-1]
}

func (s *yamlFile) node(n *yaml.Node) token.Pos { return s.pos(n.Line, n.Column) }

func (s *yamlFile) problem(at token.Pos, hint, format string, args ...any) problem.List {
	return problem.List{{Position: posOf(at), Rule: problem.RuleYAML, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// unreadable says what of the bytes no reader takes.
func (s *yamlFile) unreadable() problem.List {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(s.data, []byte(mark)) {
			return s.problem(s.pos(1, 1), "save the file as UTF-8", "UTF-16, not UTF-8")
		}
	}
	n := 0
	for i := 0; i < len(s.data); n++ {
		r, size := utf8.DecodeRune(s.data[i:])
		switch {
		case r == '\ufeff' && i == 0:
			return s.problem(s.pos(1, 1), "", "two byte order marks")
		case r == utf8.RuneError && size == 1:
			return s.problem(s.file.Pos(n, token.NoRelPos), "save the file as UTF-8", "not UTF-8")
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			return s.problem(s.file.Pos(n, token.NoRelPos), "", "character %U is not allowed", r)
		}
		i += size
	}
	return nil
}

// invalidUTF8 gives the place of the first byte that isn't UTF-8, if there is one.
func (s *yamlFile) invalidUTF8() (token.Pos, bool) {
	if utf8.Valid(s.data) {
		return token.Pos{}, false
	}
	n := 0
	for i := 0; ; n++ {
		r, size := utf8.DecodeRune(s.data[i:])
		if r == utf8.RuneError && size == 1 {
			return s.file.Pos(n, token.NoRelPos), true
		}
		i += size
	}
}

// loneCR finds a carriage return that isn't part of a line's end: YAML ends the
// line there, kubectl doesn't.
func (s *yamlFile) loneCR() (token.Pos, bool) {
	i := 0
	for {
		next := bytes.IndexByte(s.data[i:], '\r')
		if next < 0 {
			return token.Pos{}, false
		}
		if i += next + 1; s.data[i] != '\n' { // data ends with a line feed
			return s.file.Pos(utf8.RuneCount(s.data[:i-1]), token.NoRelPos), true
		}
	}
}

// documents reads the documents of a file, those with nothing in them left out.
// It ends at the first that can't be read, since nothing after it can be
// trusted. Documents end where they end for kubectl, which looks for lines that
// begin with --- before it reads any YAML; what it would read otherwise, or
// leave out, is a problem.
func (s *yamlFile) documents() iter.Seq2[*yaml.Node, problem.List] {
	return func(yield func(*yaml.Node, problem.List) bool) {
		if ps := s.unreadable(); ps != nil {
			yield(nil, ps)
			return
		}
		if docs := s.json(); docs != nil {
			for _, doc := range docs {
				if !yield(doc, nil) {
					return
				}
			}
			return
		}
		if at, found := s.loneCR(); found {
			yield(nil, s.problem(at, "end lines with a line feed", "carriage return without a line feed"))
			return
		}
		start, line := 0, 1
		for _, sep := range append(s.separators, separator{len(s.lines) + 1, len(s.data), len(s.data)}) {
			rest := s.data[min(sep.start+3, sep.end):sep.end]
			text := bytes.TrimSpace(rest)
			if len(text) > 0 && (text[0] != '#' || rest[0] == '#') || bytes.ContainsAny(rest, "\u0085\u2028\u2029") {
				yield(nil, s.problem(s.pos(sep.line, 1), "begin the document on the next line", "text after ---"))
				return
			}
			doc, ps := s.document(s.data[start:sep.start], line)
			if ps != nil || doc != nil {
				if !yield(doc, ps) || ps != nil {
					return
				}
			}
			start, line = sep.end, sep.line+1
		}
	}
}

// document reads the one document of a part of the file that begins at a line.
func (s *yamlFile) document(data []byte, line int) (*yaml.Node, problem.List) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("%")) {
		return nil, s.problem(s.pos(line, 1), "leave it out", "YAML directives are not supported")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, s.broken(data, line, err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, s.problem(s.pos(more.Line+line-1, more.Column), "separate documents with ---", "a second document")
	case !errors.Is(err, io.EOF):
		return nil, s.broken(data, line, err)
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) && len(s.bare) == 0 {
		return nil, nil
	}
	shift(doc.Content[0], line-1)
	return doc.Content[0], nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// shift moves nodes down by some lines.
func shift(n *yaml.Node, lines int) {
	if lines == 0 {
		return
	}
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line \d+: )?`)

// broken says where a part of the file that begins at a line isn't YAML. The
// library's errors name the place where a construct began, in its own count of
// lines, or none; what helps is the first line with which the error appears.
func (s *yamlFile) broken(data []byte, line int, err error) problem.List {
	message := func(err error) string { return yamlLine.ReplaceAllString(err.Error(), "") }
	var starts []int
	for i, c := range data {
		if i == 0 || data[i-1] == '\n' && c != '\n' {
			starts = append(starts, i)
		}
	}
	at := sort.Search(len(starts), func(i int) bool {
		part := data
		if i+1 < len(starts) {
			part = data[:starts[i+1]]
		}
		dec := yaml.NewDecoder(bytes.NewReader(part))
		found := dec.Decode(&yaml.Node{})
		for found == nil {
			found = dec.Decode(&yaml.Node{})
		}
		return message(found) == message(err)
	})
	if at == len(starts) {
		return s.problem(s.pos(line, 1), "", "not YAML: %s", message(err))
	}
	rest := data[starts[at]:]
	column := 1 + len(rest) - len(bytes.TrimLeft(rest, " "))
	before := newYAMLFile(s.name, data[:starts[at]])
	return s.problem(s.pos(line+len(before.lines)-1, column), "", "not YAML: %s", message(err))
}
