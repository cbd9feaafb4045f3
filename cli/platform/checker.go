package platform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// The forms of values that several fields have.
var (
	digestPattern   = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	durationPattern = lazyregexp.New(`^([0-9]+(\.[0-9]+)?(s|m|h))+$`)
	percentPattern  = lazyregexp.New(`^([1-9][0-9]?|100)%$`)
)

// maxDuration is the maximal length of a duration in bytes.
const maxDuration = 32

// transformChecker collects the problems of one Transform.
type transformChecker struct {
	doc      yamlfile.Document
	problems problem.List
}

// refuse reports a field that a Transform must not have, at its key.
func (c *transformChecker) refuse(parent string, given map[string]any, name, message, hint string) {
	if _, ok := given[name]; !ok {
		return
	}
	path := fieldpath.Join(parent, name)
	c.problems = append(c.problems, problem.Problem{
		Position: c.doc.KeyAt(path), Path: path, Rule: problem.RuleTransform, Message: message, Hint: hint,
	})
}

// wrong reports the value of a field, or a field that is missing.
func (c *transformChecker) wrong(path, message, hint string) {
	c.problems = append(c.problems, problem.Problem{
		Position: c.doc.At(path), Path: path, Rule: problem.RuleTransform, Message: message, Hint: hint,
	})
}

// required reports a field that is missing.
func (c *transformChecker) required(parent string, given map[string]any, name string) {
	if _, ok := given[name]; !ok {
		c.wrong(fieldpath.Join(parent, name), "required field is missing", "")
	}
}

// list returns a list, and reports one that is too long.
func (c *transformChecker) list(parent string, given map[string]any, name string, limit int) []any {
	list, _ := given[name].([]any)
	if len(list) > limit {
		c.wrong(fieldpath.Join(parent, name), fmt.Sprintf("has %d entries, more than %d", len(list), limit), "")
		return nil
	}
	return list
}

// checkTexts checks a list of different texts. A nil pattern allows all of at most size
// bytes.
func (c *transformChecker) checkTexts(parent string, given map[string]any, name string, limit, size int, pattern *regexp.Regexp, what string) {
	seen := map[string]bool{}
	for i, v := range c.list(parent, given, name, limit) {
		text, ok := v.(string)
		path := fieldpath.Join(parent, name) + fieldpath.Index(i)
		switch {
		case !ok:
		case pattern != nil && !pattern.MatchString(text):
			c.wrong(path, fmt.Sprintf("%q is not %s", text, what), "")
		case len(text) > size:
			c.wrong(path, fmt.Sprintf("has more than %d bytes", size), "")
		case seen[text]:
			c.wrong(path, "given twice", "")
		}
		seen[text] = true
	}
}

// checkOneOf checks a field that has one of a few values.
func (c *transformChecker) checkOneOf(parent string, given map[string]any, name string, values ...string) {
	v, ok := given[name].(string)
	if !ok || slices.Contains(values, v) {
		return
	}
	message := fmt.Sprintf("%q is neither %s nor %s", v, strings.Join(values[:len(values)-1], ", "), values[len(values)-1])
	c.wrong(fieldpath.Join(parent, name), message, "")
}

// checkDigest checks a field that is the digest of a module.
func (c *transformChecker) checkDigest(parent string, given map[string]any, name string) {
	if v, ok := given[name].(string); ok && !digestPattern().MatchString(v) {
		c.wrong(fieldpath.Join(parent, name), fmt.Sprintf("%q is not sha256: and 64 hex digits", v), "")
	}
}

// checkDuration checks a duration that is at least a minimum.
func (c *transformChecker) checkDuration(parent string, given map[string]any, name string, least time.Duration) {
	v, ok := given[name].(string)
	if !ok {
		return
	}
	d, err := time.ParseDuration(v)
	path := fieldpath.Join(parent, name)
	switch {
	case err != nil || !durationPattern().MatchString(v) || len(v) > maxDuration:
		c.wrong(path, fmt.Sprintf("%q is not a duration", v), "for example 10m or 1h30m")
	case d < least && least == time.Nanosecond:
		c.wrong(path, fmt.Sprintf("%q is not more than 0s", v), "")
	case d < least:
		c.wrong(path, fmt.Sprintf("%q is less than %s", v, least), "")
	}
}

// checkShare checks a number or a percentage of instances.
func (c *transformChecker) checkShare(path string, value any) {
	switch v := value.(type) {
	case float64:
		if v >= 1 && v == float64(int32(v)) {
			return
		}
	case string:
		if percentPattern().MatchString(v) {
			return
		}
	}
	c.wrong(path, fmt.Sprintf("%v is neither a number from 1 nor a percentage from 1%% to 100%%", value), "")
}
