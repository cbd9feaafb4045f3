// Package redact makes text public that may have secrets in it: what a server or a broker has said, and
// what an expression yields. Everything of that kind that goes into a status, an Event, a log, the
// history, a notification or a trace passes a [Redactor], which has the secrets of the request.
//
// It finds secrets as they are, in the encodings of addresses, JSON and base64, and parts of them. Whoever
// has a secret can disguise it in other ways: the package keeps it from readers when a server repeats it.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	// Mark is in the place of a secret.
	Mark = "[redacted]"
	// least is the length in bytes below which a value is too common to be searched for, and part is that
	// of parts of a secret.
	least, part = 4, 8
	// longest is the length of secrets whose parts are searched for. Longer ones are documents,
	// such as certificates, and have parts in common with other texts.
	longest = 512
)

// IsSecret reports whether the value of a header, which a Secret has among others, counts as a secret.
// Those of a few headers are in many texts, and decide nothing.
func IsSecret(header string) bool {
	switch header = strings.ToLower(header); header {
	case "accept", "content-type", "user-agent", "x-requested-with":
		return false
	}
	return !strings.HasPrefix(header, "accept-") && !strings.HasSuffix(header, "-version")
}

// Redactor replaces secrets. The zero value knows none.
type Redactor struct {
	whole []string // the longest first, because one may be part of another
	parts map[string]bool
}

// New returns a Redactor of credentials, which also finds parts of them.
func New(credentials ...string) *Redactor {
	r := &Redactor{parts: map[string]bool{}}
	return r.add(true, credentials)
}

// And adds values that are found as a whole only: parts of a secret address are no secrets.
func (r *Redactor) And(values ...string) *Redactor { return r.add(false, values) }

func (r *Redactor) add(parts bool, secrets []string) *Redactor {
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if len(secret) < least {
			continue
		}
		quoted, _ := json.Marshal(secret) // strings have JSON
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`),
			base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if slices.Contains(r.whole, form) {
				continue
			}
			r.whole = append(r.whole, form)
			for i := 0; parts && i+part <= len(form) && len(secret) <= longest; i++ {
				r.parts[form[i:i+part]] = true
			}
		}
	}
	slices.SortFunc(r.whole, func(a, b string) int { return len(b) - len(a) })
	return r
}

// Text returns a text without secrets and without parts of them.
func (r *Redactor) Text(text string) string {
	for _, secret := range r.whole {
		text = strings.ReplaceAll(text, secret, Mark)
	}
	if len(r.parts) == 0 {
		return text
	}
	var clean strings.Builder
	kept := 0 // up to where the text is in clean
	for i := 0; i+part <= len(text); i++ {
		if !r.parts[text[i:i+part]] {
			continue
		}
		end := i + part
		for end < len(text) && r.parts[text[end-part+1:end+1]] {
			end++
		}
		clean.WriteString(text[kept:i])
		clean.WriteString(Mark)
		kept, i = end, end-1
	}
	clean.WriteString(text[kept:])
	return clean.String()
}

// Leaks reports whether a text has a secret or a part of one.
func (r *Redactor) Leaks(text string) bool { return r.Text(text) != text }

// Value returns a copy of decoded JSON without secrets in its strings and names.
func (r *Redactor) Value(value any) any {
	switch v := value.(type) {
	case string:
		return r.Text(v)
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			clean[r.Text(name)] = r.Value(member)
		}
		return clean
	case []any:
		clean := make([]any, len(v))
		for i := range v {
			clean[i] = r.Value(v[i])
		}
		return clean
	}
	return value
}
