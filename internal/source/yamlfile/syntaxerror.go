package yamlfile

import (
	"bytes"
	"sort"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
)

// yamlLine matches the line number that the YAML library puts before a message.
var yamlLine = lazyregexp.New(`^(?:yaml: )?(?:line \d+: )?`)

// syntaxError returns the problem of a part of the file that is not YAML. The
// part begins at the given line.
//
// The library reports the line where the broken construct began, counted from
// the start of the part, or no line. The line that helps the user is the first
// at which the error appears, and syntaxError finds it by binary search: it
// parses longer and longer beginnings of the part until the error is the same.
func (f *file) syntaxError(data []byte, line int, err error) problem.List {
	message := func(err error) string { return yamlLine().ReplaceAllString(err.Error(), "") }
	// Binary search needs an order: once a beginning has the error, all longer
	// ones are taken to have it.
	var starts []int // byte offsets of the lines that are not empty
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
		return f.problem(f.pos(line, 1), "", "not YAML: %s", message(err))
	}
	rest := data[starts[at]:]
	column := 1 + len(rest) - len(bytes.TrimLeft(rest, " "))
	before := newFile(f.name, data[:starts[at]])
	return f.problem(f.pos(line+len(before.lines)-1, column), "", "not YAML: %s", message(err))
}
