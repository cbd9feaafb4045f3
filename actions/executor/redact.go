package executor

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/source"
)

// maxExcerpt is how much of a response an error quotes.
const maxExcerpt = 300

const redacted = redact.Mark

var (
	addresses = lazyregexp.New(`https?://[^\s"'<>]+`)
	schemes   = lazyregexp.New(`(?i)\b(bearer|basic)\s+[^\s"',;]+`)
	named     = lazyregexp.New(`(?i)((?:password|passwd|secret|token|api_?key|access_?key|private_?key|signature|credential|authorization|cookie)["']?\s*[=:]\s*["']?)[^\s"',;&}]+`)
	opaque    = lazyregexp.New(`[A-Za-z0-9_+/=.-]{20,}`)
)

// scrub removes from a server's text what looks like a credential: the users and queries of
// addresses, values with names such as token, and long words with digits.
func scrub(text string) string {
	text = passwords(text)
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

// passwords removes from a text what its words name as a credential.
func passwords(text string) string {
	return named().ReplaceAllString(schemes().ReplaceAllString(text, "$1 "+redacted), "${1}"+redacted)
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

// Message returns a text of Pequod's own program in a Pod as a status may have it, without what its words name as a
// credential. Its digests stay.
func Message(text string) string { return source.OneLine(passwords(text), v1alpha1.MaxMessage) }

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

// Redactor returns what keeps the secrets of an observation from readers.
func (o *Observation) Redactor() *redact.Redactor { return redact.New(o.Secrets...).And(o.Values...) }

// Publish removes the secrets from all that is recorded, and an address that isn't that of a page. A server controls each of these strings. A
// run whose name has a secret can't be recorded, so it counts as failed.
func (o *Observation) Publish() {
	r := o.Redactor()
	if o.Raw == nil {
		o.Raw = o.Data
	}
	if o.Data != nil {
		o.Data = r.Value(o.Data).(map[string]any)
	}
	if r.Leaks(o.ID) {
		o.ID, o.URL, o.Jobs, o.Artifacts, o.Plan = "", "", nil, nil, nil
		o.State, o.Permanent, o.Message = v1alpha1.RunFailed, true, "the server's name of the run has a value of a Secret, which would be recorded"
		return
	}
	o.URL, o.Message = r.Text(o.URL), r.Text(o.Message)
	if !strings.HasPrefix(o.URL, "https://") && !strings.HasPrefix(o.URL, "http://") {
		o.URL = "" // people open it
	}
	for i := range o.Jobs {
		j := &o.Jobs[i]
		j.Name, j.Status, j.Conclusion = r.Text(j.Name), r.Text(j.Status), r.Text(j.Conclusion)
	}
	for i := range o.Artifacts {
		o.Artifacts[i].Name = r.Text(o.Artifacts[i].Name)
	}
	if o.Plan != nil {
		o.Plan.Digest, o.Plan.Summary = r.Text(o.Plan.Digest), r.Text(o.Plan.Summary)
	}
}

// Scrub returns one line of a text of a server, without the secrets and without what looks like a
// credential.
func Scrub(text string, known *redact.Redactor) string {
	return source.OneLine(known.Text(scrub(text)), maxExcerpt)
}
