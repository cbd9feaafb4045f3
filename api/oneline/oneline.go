// Package oneline makes one short line of text that others wrote: messages of
// controllers, webhooks and kubelets go into status, Events and logs, where
// they must neither break a line nor steer a terminal nor fill the screen.
package oneline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of returns s as one line of at most limit bytes. Runs of white space become
// one space, characters that can't be printed a question mark, and what is
// left out at the end an ellipsis.
func Of(s string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case !unicode.IsPrint(r) || r == utf8.RuneError:
			r = '?'
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		if b.Len() > limit {
			return cut(b.String(), limit)
		}
	}
	return b.String()
}

func cut(s string, limit int) string {
	const ellipsis = "…"
	end := max(limit-len(ellipsis), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + ellipsis
}
