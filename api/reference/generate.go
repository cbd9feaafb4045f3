package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxGenerated is the maximum length of a generated value in characters: far more
// than a password needs, and far less than the size limit of a Secret.
const MaxGenerated = 4096

// Generate is a late reference
// {"$generate": {"length": 32, "charset": "alphanumeric"}}: a random value that is
// generated once, when its Secret is created.
type Generate struct {
	Path Path
	// Length is the number of characters, from 1 to [MaxGenerated].
	Length int
	// Charset is one of [Charsets], by default the first.
	Charset string
}

// Charsets returns the names of the character sets, the default first.
func Charsets() []string {
	return []string{"alphanumeric", "alphabetic", "numeric", "hex", "printable"}
}

// Characters returns the characters of a character set, or "" for an unknown name.
// The set printable has no space, quotes and backslash, because those need escapes
// in configuration files.
func Characters(charset string) string {
	const (
		lower  = "abcdefghijklmnopqrstuvwxyz"
		upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		digits = "0123456789"
	)
	switch charset {
	case "alphanumeric":
		return upper + lower + digits
	case "alphabetic":
		return upper + lower
	case "numeric":
		return digits
	case "hex":
		return digits + "abcdef"
	case "printable":
		return upper + lower + digits + "!#$%&()*+,-./:;<=>?@[]^_{|}~"
	}
	return ""
}

// readGenerate records the value of a $generate key.
func (f *finder) readGenerate(value any) {
	m, ok := value.(map[string]any)
	if !ok {
		f.malformed(fmt.Sprintf("%s is %s, not a map", GenerateKey, typeName(value)),
			`as in {"$generate": {"length": 32}}`)
		return
	}
	g := Generate{Path: slices.Clone(f.path), Charset: Charsets()[0]}
	valid := true
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch key {
		case "length":
			n, ok := integer(m[key])
			if !ok || n < 1 || n > MaxGenerated {
				f.malformed(fmt.Sprintf("%s.length is not a whole number from 1 to %d", GenerateKey, MaxGenerated), "")
				valid = false
			}
			g.Length = n
		case "charset":
			name, ok := m[key].(string)
			if !ok || Characters(name) == "" {
				f.malformed(fmt.Sprintf("%s.charset is unknown", GenerateKey), "one of "+strings.Join(Charsets(), ", "))
				valid = false
			}
			g.Charset = name
		default:
			f.malformed(fmt.Sprintf("%s.%s is unknown", GenerateKey, key), "it has length and charset")
			valid = false
		}
	}
	if _, ok := m["length"]; !ok {
		f.malformed(GenerateKey+".length is missing", "")
		valid = false
	}
	if valid {
		f.found.Generate = append(f.found.Generate, g)
	}
}

// integer converts a whole number of any type that JSON decoders produce to an
// int. encoding/json decodes numbers to float64, or to json.Number if asked to;
// Kubernetes' decoder returns int64 for whole numbers.
func integer(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case float64:
		return int(v), v == float64(int(v))
	case json.Number:
		n, err := v.Int64()
		return int(n), err == nil
	}
	return 0, false
}
