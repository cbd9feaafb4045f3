package render

import "strings"

// nameRule returns the messages of apimachinery about an invalid name without
// their examples and regular expressions, which begin with " (e.g.".
func nameRule(msgs []string) string {
	rules := make([]string, len(msgs))
	for i, msg := range msgs {
		rules[i], _, _ = strings.Cut(msg, " (e.g.")
	}
	return strings.Join(rules, "; ")
}
