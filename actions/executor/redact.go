package executor

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/source"
)

// maxExcerpt is how much of a response an error quotes.
const maxExcerpt = 300

// minSecret is the length below which a value is too common to be searched for.
const minSecret = 4

const redacted = "[redacted]"

var (
	addresses = lazyregexp.New(`https?://[^\s"'<>]+`)
	schemes   = lazyregexp.New(`(?i)\b(bearer|basic)\s+[^\s"',;]+`)
	named     = lazyregexp.New(`(?i)((?:password|passwd|secret|token|api_?key|access_?key|private_?key|signature|credential|authorization|cookie)["']?\s*[=:]\s*["']?)[^\s"',;&}]+`)
	opaque    = lazyregexp.New(`[A-Za-z0-9_+/=.-]{20,}`)
)

// scrub removes from a server's text what looks like a credential: the users and queries of
// addresses, values with names such as token, and long words with digits.
func scrub(text string) string {
	text = schemes().ReplaceAllString(text, "$1 "+redacted)
	text = named().ReplaceAllString(text, "${1}"+redacted)
	var clean strings.Builder
	rest := text
	for _, at := range addresses().FindAllString(text, -1) {
		before, after, _ := strings.Cut(rest, at)
		clean.WriteString(words(before))
		clean.WriteString(PublicURL(at))
		rest = after
	}
	clean.WriteString(words(rest))
	return clean.String()
}

// words removes words that are too long, and too mixed, for a language.
func words(text string) string {
	return opaque().ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsLetter) {
			return redacted
		}
		return word
	})
}

// excerpt returns the beginning of a response for people, without what looks like a secret. Of
// a document it returns nothing: a proxy has sent it.
func excerpt(body []byte) string {
	var known struct{ Message, Error, Title, Detail any }
	if json.Unmarshal(body, &known) == nil {
		for _, value := range []any{known.Message, known.Detail, known.Title, known.Error} {
			if text := strings.Join(messages(value), "; "); text != "" {
				return source.OneLine(scrub(text), maxExcerpt)
			}
		}
	}
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return "" // any field may be a secret
	}
	return source.OneLine(scrub(text), maxExcerpt)
}

// Excerpt returns the beginning of a text of a program for people, without what looks like a
// secret.
func Excerpt(text string) string { return source.OneLine(scrub(text), maxExcerpt) }

// messages returns the texts of a message: a string, or, as GitLab has them, lists by field.
func messages(value any) []string {
	var all []string
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				all = append(all, text)
			}
		}
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			if list, ok := v[field].([]any); ok {
				for _, text := range messages(list) {
					all = append(all, field+": "+text)
				}
			}
		}
	}
	return all
}

// redact replaces secret values in a text. Longer ones come first, because one may be part of another.
func redact(text string, secrets []string) string {
	longest := slices.Clone(secrets)
	slices.SortFunc(longest, func(a, b string) int { return len(b) - len(a) })
	for _, s := range longest {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, redacted)
		}
	}
	return text
}

// Redact replaces the secrets of an observation in a text.
func (o *Observation) Redact(text string) string { return redact(text, o.Secrets) }

// Leaks reports whether a text has one of the secrets of an observation.
func (o *Observation) Leaks(text string) bool { return redact(text, o.Secrets) != text }

// Scrub returns one line of a text of a server, without the secrets and without what looks like a
// credential.
func Scrub(text string, secrets []string) string {
	return source.OneLine(redact(scrub(text), secrets), maxExcerpt)
}
