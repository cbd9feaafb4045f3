// Package jsonlimit bounds JSON from outside by the values that it has, before it is decoded. Bytes
// are no such bound: the three of {}, are an object of some hundred bytes.
//
// [Counter] counts values while a text is read, and [Check] those of a complete text. Neither
// validates the text. Package internal/source/yamlfile has the same limits for YAML, and estimates the
// values of a YAML text before it is parsed.
package jsonlimit

import (
	"bytes"
	"fmt"
)

// Limits are the bounds of one text.
type Limits struct {
	// Values is the number of values, including objects and arrays. Member names are not counted.
	Values int
	// Depth is how deep objects and arrays are nested.
	Depth int
}

// Document is the bound of an object of Kubernetes: no person writes one that is half as large.
var Document = Limits{Values: 200_000, Depth: 200}

// Message is the bound of a message of another program, such as the answer of a server, and of a
// manifest or a signature in a registry.
var Message = Limits{Values: 50_000, Depth: 200}

// Exceeded is the error of a text that exceeds its limits.
type Exceeded struct {
	What  string // "values" or "levels"
	Limit int
}

// Error implements error.
func (e *Exceeded) Error() string { return fmt.Sprintf("it has more than %d %s", e.Limit, e.What) }

// Counter counts the values of the text that is written to it.
type Counter struct {
	limits          Limits
	values, depth   int
	quoted, escaped bool
}

// NewCounter returns a counter of one text.
func NewCounter(l Limits) *Counter { return &Counter{limits: l} }

// Values returns the number of values so far.
func (c *Counter) Values() int { return c.values }

// Write implements [io.Writer]. The error is an [*Exceeded].
func (c *Counter) Write(p []byte) (int, error) {
	for i, b := range p {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == '{', b == '[':
			c.values++
			c.depth++
		case b == '}', b == ']':
			c.depth--
		case b == ',':
			c.values++
		}
		if c.values > c.limits.Values {
			return i, &Exceeded{"values", c.limits.Values}
		}
		if c.depth > c.limits.Depth {
			return i, &Exceeded{"levels", c.limits.Depth}
		}
	}
	return len(p), nil
}

// Check returns an [*Exceeded] if a JSON text exceeds its limits. A text that is no object and no
// array is decoded to one value at most.
func Check(text []byte, l Limits) error {
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil
	}
	_, err := NewCounter(l).Write(text)
	return err
}
