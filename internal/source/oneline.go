package source

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns s as one line of at most limit bytes. Runs of white space
// become one space and unprintable characters become question marks. An ellipsis
// replaces the end of a text that is too long.
func OneLine(s string, limit int) string {
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
			return truncate(b.String(), limit)
		}
	}
	return b.String()
}

// truncate cuts s at a rune boundary so that it fits limit bytes with an ellipsis.
func truncate(s string, limit int) string {
	const ellipsis = "…"
	end := max(limit-len(ellipsis), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + ellipsis
}

// Clip returns s if it has at most limit characters, and else its first limit
// characters and an ellipsis.
func Clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
