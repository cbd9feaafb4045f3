package yamlfile

import (
	"bytes"
	"iter"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/problem"
)

// Part is a part of a file that can be read without the others: a document of a YAML file,
// or a whole JSON file.
type Part struct {
	file *file
	// start and end are byte offsets, and line is the line of start, from 1.
	start, end, line int
	// json has the documents of a JSON file.
	json []*yaml.Node
}

// Parts splits a file where kubectl splits it, and skips parts of blank lines and comments. It
// parses only JSON files. The first mistake ends the sequence. A limit is for files of others: a part
// of more than limit bytes, or with more [Marks] than a document may have values, ends it, too, since
// parsing takes many times the memory of the text. 0 means no limit.
func Parts(name string, data []byte, limit int) iter.Seq2[Part, problem.List] {
	return newFile(name, data).parts(limit)
}

// Marks returns the number of places of a YAML or JSON text at which a value, a tag or a line can
// begin. A parser makes at most two nodes of each, of some hundred bytes, so a text with too many can
// be refused before it is parsed. Those in strings count, too: only a parser knows where they end.
func Marks(text []byte) int {
	marks := 0
	for i, b := range text {
		switch b {
		case ',', '[', '{', ':', '!', '\n', '\r', 0x85, 0xa8, 0xa9: // the last three end U+0085, U+2028 and U+2029
			marks++
		case '-', '?':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				marks++
			}
		}
	}
	return marks
}

// Objects returns the documents of the part as [Objects] does.
func (p Part) Objects() iter.Seq2[Document, problem.List] {
	return items(p.file, p.documents())
}

// Text returns the part as a file of its own, in which every value has the line and the
// column that it has in the whole file.
func (p Part) Text() []byte {
	if p.json != nil {
		return p.file.data
	}
	var out bytes.Buffer
	out.Write(bytes.Repeat([]byte("\n"), p.line-1))
	out.Write(p.file.data[p.start:p.end])
	out.WriteString("---\n") // the part alone may be JSON, although the file is not
	return out.Bytes()
}

// parts is [Parts] of the file. Looking for lines that begin with --- comes before parsing any
// YAML. Text that kubectl would drop, or that ends a document only for the YAML library, is a
// problem.
func (f *file) parts(limit int) iter.Seq2[Part, problem.List] {
	return func(yield func(Part, problem.List) bool) {
		if ps := f.checkEncoding(); ps != nil {
			yield(Part{}, ps)
			return
		}
		refuse := func(text []byte, line int) problem.List {
			switch {
			case limit > 0 && len(text) > limit:
				return f.problem(f.pos(line, 1), "", "a document of more than %d bytes", limit)
			case limit > 0 && Marks(text) > maxValues:
				return f.problem(f.pos(line, 1), "", "a document with more than %d values and lines", maxValues)
			}
			return nil
		}
		if f.startsAsJSON() {
			if ps := refuse(f.data, 1); ps != nil {
				yield(Part{}, ps)
				return
			}
			if docs := f.json(); docs != nil {
				yield(Part{file: f, end: len(f.data), line: 1, json: docs}, nil)
				return
			}
		}
		if at, found := f.loneCarriageReturn(); found {
			yield(Part{}, f.problem(at, "end lines with a line feed", "carriage return without a line feed"))
			return
		}
		start, line := 0, 1
		// Each turn yields the text before one separator. An imaginary separator at the
		// end of the file ends the last document.
		endOfFile := separator{len(f.lines) + 1, len(f.data), len(f.data)}
		for _, sep := range append(f.separators, endOfFile) {
			rest := f.data[min(sep.start+3, sep.end):sep.end]
			text := bytes.TrimSpace(rest)
			// kubectl drops the rest of a separator line. A comment is no loss.
			if len(text) > 0 && (text[0] != '#' || rest[0] == '#') || bytes.ContainsAny(rest, "\u0085\u2028\u2029") {
				yield(Part{}, f.problem(f.pos(sep.line, 1), "begin the document on the next line", "text after ---"))
				return
			}
			if ps := refuse(f.data[start:sep.start], line); ps != nil {
				yield(Part{}, ps)
				return
			}
			if !isEmpty(f.data[start:sep.start]) && !yield(Part{file: f, start: start, end: sep.start, line: line}, nil) {
				return
			}
			start, line = sep.end, sep.line+1
		}
	}
}

// isEmpty reports whether a part has only blank lines and comments, and thus no document. Parsing
// finds that out, too, but a file can have a million such parts. isEmpty returns false for rare
// spellings that only parsing decides: tabs, and characters at which YAML 1.1 ends a line and
// with it a comment.
func isEmpty(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(bytes.TrimLeft(line, " "), "\r\n")
		if len(line) > 0 && (line[0] != '#' || bytes.ContainsAny(line, "\u0085\u2028\u2029")) {
			return false
		}
	}
	return true
}

// documents yields the root nodes of the documents in the part.
func (p Part) documents() iter.Seq2[*yaml.Node, problem.List] {
	return func(yield func(*yaml.Node, problem.List) bool) {
		for _, doc := range p.json {
			if !yield(doc, nil) {
				return
			}
		}
		if p.json != nil {
			return
		}
		if doc, ps := p.file.document(p.file.data[p.start:p.end], p.line); ps != nil || doc != nil {
			yield(doc, ps)
		}
	}
}
