package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxGenerated bounds the length of a generated value: far more than a secret
// needs, far less than a Secret may hold.
const MaxGenerated = 4096

// Generate is a value that is made once in the cluster:
// {"$generate": {"length": 32, "charset": "alphanumeric"}}.
type Generate struct {
	Path   Path
	Length int
	// Charset is one of [Charsets]; the first of them if none was given.
	Charset string
}

// Charsets lists the names of the character sets, the default first.
func Charsets() []string {
	return []string{"alphanumeric", "alphabetic", "numeric", "hex", "printable"}
}

// Characters returns the characters of a set that [Charsets] lists, and "" for
// any other name. The printable set leaves out space, quotes and backslash,
// which configuration files would need escapes for.
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

func (f *finder) takeGenerate(value any) {
	m, ok := value.(map[string]any)
	if !ok {
		f.malformed(fmt.Sprintf("%s is %s, not a map", GenerateKey, typeName(value)),
			`as in {"$generate": {"length": 32}}`)
		return
	}
	g := Generate{Path: slices.Clone(f.path), Charset: Charsets()[0]}
	sound := true
	for _, key := range sortedKeys(m) {
		switch key {
		case "length":
			n, ok := integer(m[key])
			if !ok || n < 1 || n > MaxGenerated {
				f.malformed(fmt.Sprintf("%s.length is not a whole number from 1 to %d", GenerateKey, MaxGenerated), "")
				sound = false
			}
			g.Length = n
		case "charset":
			name, ok := m[key].(string)
			if !ok || Characters(name) == "" {
				f.malformed(fmt.Sprintf("%s.charset is unknown", GenerateKey), "one of "+strings.Join(Charsets(), ", "))
				sound = false
			}
			g.Charset = name
		default:
			f.malformed(fmt.Sprintf("%s.%s is unknown", GenerateKey, key), "it has length and charset")
			sound = false
		}
	}
	if _, ok := m["length"]; !ok {
		f.malformed(GenerateKey+".length is missing", "")
		sound = false
	}
	if sound {
		f.found.Generate = append(f.found.Generate, g)
	}
}

// integer reads a whole number from any of the types that JSON decoders make.
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

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
