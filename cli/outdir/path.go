package outdir

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

const (
	extension = ".yaml"
	// clusterScoped is the directory of objects without a namespace. No
	// namespace can be called so: names don't begin with an underscore.
	clusterScoped = "_cluster"
	// maxComponent is the longest name of a file or directory that every file
	// system in use takes.
	maxComponent = 255
)

// Path returns the file of an object, with slashes and relative to the output
// directory:
//
//	default/deployment.apps-web.yaml
//	_cluster/clusterrole.rbac.authorization.k8s.io-system%3aweb.yaml
//
// Different objects have different paths on every operating system, whatever
// their names hold: what isn't a lower-case letter, a digit or one of ".-_" is
// percent-encoded, and so is what would be mistaken for something else. Only
// the case of the kind is folded, for no API group has two kinds that differ
// in nothing else.
func Path(group, kind, namespace, name string) string {
	dir := clusterScoped
	if namespace != "" {
		dir = directory(namespace)
	}
	return dir + "/" + file(group, strings.ToLower(kind), name)
}

func directory(namespace string) string {
	s := encode(namespace, "")
	if strings.HasPrefix(s, "_") || strings.HasPrefix(s, ".") {
		s = percent(s[0]) + s[1:]
	}
	if strings.HasSuffix(s, ".") { // Windows drops it
		s = s[:len(s)-1] + percent('.')
	}
	return shorten(unreserve(s), "")
}

// file joins the parts of a file's name so that they can be told apart again.
// A kind has neither dot nor hyphen, so the first of them ends it. Where a dot
// ended it, a group follows: with dots up to the first hyphen after its first
// dot (cert-manager.io), without dots up to the first hyphen (apps). What reads
// like the other case is encoded.
func file(group, kind, name string) string {
	s := encode(kind, ".-")
	name = encode(name, "")
	first, rest, dotted := strings.Cut(group, ".")
	switch {
	case group == "":
	case dotted:
		s += "." + encode(first, "") + "." + encode(rest, "-")
	default:
		s += "." + encode(group, "-")
		if dot := strings.IndexByte(name, '.'); dot >= 0 && strings.Contains(name[dot:], "-") {
			name = name[:dot] + percent('.') + name[dot+1:]
		}
	}
	return shorten(unreserve(s+"-"+name), extension)
}

// encode percent-encodes all but the safe characters, and those in also.
func encode(s, also string) string {
	var b strings.Builder
	for i := range len(s) {
		if safe(s[i]) && !strings.ContainsRune(also, rune(s[i])) {
			b.WriteByte(s[i])
		} else {
			b.WriteString(percent(s[i]))
		}
	}
	return b.String()
}

func safe(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

func percent(c byte) string { return fmt.Sprintf("%%%02x", c) }

// unreserve keeps Windows from taking a name for one of its devices, which it
// does whatever follows the first dot.
func unreserve(s string) string {
	device, _, _ := strings.Cut(s, ".")
	switch device {
	case "con", "prn", "aux", "nul":
		return percent(s[0]) + s[1:]
	}
	if len(device) == 4 && (strings.HasPrefix(device, "com") || strings.HasPrefix(device, "lpt")) && device[3] >= '0' && device[3] <= '9' {
		return percent(s[0]) + s[1:]
	}
	return s
}

// shorten appends the extension and, if that is too long, replaces the end of
// s by a hash of s. Encoding never makes the "%h" before the hash.
func shorten(s, extension string) string {
	if len(s)+len(extension) <= maxComponent {
		return s + extension
	}
	sum := fmt.Sprintf("%%h%x", sha256.Sum256([]byte(s)))
	return s[:maxComponent-len(sum)-len(extension)] + sum + extension
}

// valid tells whether Path can have made a path. Nothing else is ever written,
// and nothing else that an index lists is ever touched.
func valid(path string) bool {
	dir, name, ok := strings.Cut(path, "/")
	base, yaml := strings.CutSuffix(name, extension)
	return ok && yaml && validComponent(dir) && validComponent(base)
}

func validComponent(s string) bool {
	for i := range len(s) {
		if !safe(s[i]) && s[i] != '%' {
			return false
		}
	}
	return s != "" && s[0] != '.' && len(s) <= maxComponent
}
