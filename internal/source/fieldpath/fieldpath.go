// Package fieldpath writes and reads the paths that problems carry: the fields
// and list items that lead from a document to a value, written as kubectl does.
//
//	spec.ports[0].name
//	metadata.annotations["example.org/tier"]
//
// A path is a plain string, so that [problem.Problem] can hold it; [Join] and
// [Index] build one, and [Split] takes it apart. The package knows neither YAML
// nor CUE.
package fieldpath

import (
	"strconv"
	"strings"
)

// Join appends a field to a path. A name that would be misread after a dot is
// quoted and put in brackets.
func Join(path, name string) string {
	if name == "" || strings.ContainsAny(name, `.[]"/ `) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// Concat returns a path followed by a path below it. Either may be empty.
func Concat(base, path string) string {
	if base == "" || path == "" || path[0] == '[' {
		return base + path
	}
	return base + "." + path
}

// Index returns the path element of a list item, such as [3], to be appended to
// the path of the list.
func Index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// Split returns the elements of a path: field names without quotes, and list
// indexes as decimal numbers. A path that [Join] did not write is split as far
// as it can be understood.
func Split(path string) []string {
	var parts []string
	for path != "" {
		if path[0] == '.' {
			path = path[1:]
			continue
		}
		if path[0] == '[' {
			if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil {
				name, _ := strconv.Unquote(quoted) // QuotedPrefix returns valid literals only
				parts = append(parts, name)
				path = strings.TrimPrefix(path[1+len(quoted):], "]")
				continue
			}
			index, rest, _ := strings.Cut(path[1:], "]")
			parts = append(parts, index)
			path = rest
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		parts = append(parts, path[:end])
		path = path[end:]
	}
	return parts
}

// IsIndex reports whether an element of a path can be a list index. It can also
// be the name of a field, such as "8080" in a map.
func IsIndex(part string) bool {
	_, err := strconv.Atoi(part)
	return err == nil
}
