// Package yamlout writes YAML that means the same to every reader.
//
// The YAML libraries of Go quote the strings that they would read as something else
// themselves. Other readers take more for numbers, dates and operators: `=` is an error to
// PyYAML, `123e456` is Infinity to JavaScript, and `1_000.5` and `1:20` are numbers to
// readers of YAML 1.1. [Marshal] and [Encode] quote these, too. They differ in the library
// that they write with, and so in where long lines are broken. A [Quoter] does the same for
// values that another encoder writes.
//
// The libraries can't be told to quote a string, so a Quoter puts marks in place of such
// strings before they are encoded, and the quoted strings in place of the marks afterwards.
package yamlout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// Marshal returns a value as YAML, by way of its JSON. Keys are sorted, and numbers keep
// their digits. Lines are broken as kubectl breaks them.
func Marshal(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var generic any
	if err := dec.Decode(&generic); err != nil {
		return nil, err
	}
	var q Quoter
	out, err := sigsyaml.Marshal(q.Value(generic))
	return q.Quote(out), err
}

// Encode returns a generic value, as of JSON, as YAML with sorted keys and without broken
// lines.
func Encode(value any) ([]byte, error) {
	var q Quoter
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(q.Value(value)); err != nil {
		return nil, err
	}
	err := enc.Close()
	return q.Quote(b.Bytes()), err
}

// A Quoter quotes ambiguous strings in what an encoder writes. The zero value is ready to
// use, for one output.
type Quoter struct {
	// texts are what the marks stand for, by their numbers.
	texts []string
}

// mark is a plain scalar to every encoder. It begins and ends with characters for private
// use, which no encoder quotes.
const (
	markFormat = "\uE000%d\uE001"
	markBegin  = "\uE000"
)

var mark = lazyregexp.New("\uE000([0-9]+)\uE001")

// Value returns a copy of a generic value with marks. It keeps values of other types.
func (q *Quoter) Value(v any) any {
	switch v := v.(type) {
	case string:
		return q.String(v)
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[q.String(k)] = q.Value(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = q.Value(e)
		}
		return l
	case float64:
		if text := strconv.FormatFloat(v, 'g', -1, 64); isExponential(text) {
			return q.hold(strings.Replace(text, "e", ".0e", 1))
		}
	case json.Number:
		// Encoders may write 1000000 with an exponent.
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return q.Value(f)
		}
	}
	return v
}

// String returns the mark of an ambiguous string, and other strings as they are.
func (q *Quoter) String(s string) string {
	if !isAmbiguous(s) && !strings.Contains(s, markBegin) {
		return s
	}
	return q.hold(strconv.Quote(s))
}

// hold returns the mark of a text.
func (q *Quoter) hold(text string) string {
	q.texts = append(q.texts, text)
	return fmt.Sprintf(markFormat, len(q.texts)-1)
}

// Quote returns an output with what its marks stand for.
func (q *Quoter) Quote(out []byte) []byte {
	if len(q.texts) == 0 {
		return out
	}
	return mark().ReplaceAllFunc(out, func(m []byte) []byte {
		i, err := strconv.Atoi(string(m[len(markBegin) : len(m)-len(markBegin)]))
		if err != nil || i >= len(q.texts) {
			return m
		}
		return []byte(q.texts[i])
	})
}

// isExponential reports whether a number has an exponent but no point. It is a string to
// readers of YAML 1.1.
func isExponential(number string) bool {
	return strings.Contains(number, "e") && !strings.Contains(number, ".")
}

// number matches what some reader of YAML 1.1 or 1.2 takes for a number, whatever its size:
// of base 2, 8, 16 and 60, too, and with the signs between digits that Ruby and PyYAML allow.
var number = lazyregexp.New(`^[-+]?(0b[01_,]+|0o[0-7_,]+|0x[0-9a-fA-F_,]+|[0-9][0-9_,]*(\.[0-9_,]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// date matches the beginning of a timestamp of YAML 1.1. PyYAML fails on dates that don't
// exist.
var date = lazyregexp.New(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}($|[Tt \t])`)

// isAmbiguous reports whether some reader takes a string without quotes for another value,
// although the libraries of Go may write it without: they quote null, true, yes and the like
// themselves.
func isAmbiguous(s string) bool {
	if s == "" {
		return false
	}
	switch c := s[0]; {
	case s == "=" || s == "<<":
		return true
	case c == '-', c == '+', c == '.', '0' <= c && c <= '9':
		return number().MatchString(s) || date().MatchString(s)
	}
	return false
}
