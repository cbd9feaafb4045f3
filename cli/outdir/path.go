package outdir

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

const (
	extension = ".yaml"
	// clusterScoped is the directory of objects without a namespace. It cannot be
	// the name of a namespace, because of the underscore.
	clusterScoped = "_cluster"
	// maxComponent is the largest length of a file name, in bytes, that all common
	// file systems support.
	maxComponent = 255
)

// Path returns the file of an object, with slashes and relative to the output
// directory:
//
//	default/deployment.apps-web.yaml
//	_cluster/clusterrole.rbac.authorization.k8s.io-system%3aweb.yaml
//
// Different objects have different paths on every operating system, for any names:
// bytes other than lower-case letters, digits and ".-_" are percent-encoded, and so
// are those that would make the name ambiguous. Only the kind is converted to lower
// case: no API group has two kinds that differ only in case.
func Path(group, kind, namespace, name string) string {
	dir := clusterScoped
	if namespace != "" {
		dir = directory(namespace)
	}
	return dir + "/" + file(group, strings.ToLower(kind), name)
}

// In returns a path for a cluster: in a directory with the name of the cluster, or the path itself
// for "". The name must be a DNS label.
func In(cluster, path string) string {
	if cluster == "" {
		return path
	}
	return directory(cluster) + "/" + path
}

// directory returns the directory of a namespace.
func directory(namespace string) string {
	s := encode(namespace, "")
	if strings.HasPrefix(s, "_") || strings.HasPrefix(s, ".") {
		s = percent(s[0]) + s[1:]
	}
	if strings.HasSuffix(s, ".") { // Windows removes it
		s = s[:len(s)-1] + percent('.')
	}
	return shorten(unreserve(s), "")
}

// file returns the name of a file so that its parts can be separated again, which
// makes the names of different objects different. The kind ends at the first dot or
// hyphen. After a dot follows the group: a group with dots (cert-manager.io) ends at
// the first hyphen after its first dot, a group without dots (apps) at the first
// hyphen. A dot in the name that would make the second case look like the first is
// encoded.
func file(group, kind, name string) string {
	s := encode(kind, ".-")
	name = encode(name, "")
	first, rest, dotted := strings.Cut(group, ".") // the first dot of the group is kept
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

// encode percent-encodes all bytes that are not safe, and those in also:
// system:web becomes system%3aweb.
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

// safe reports whether every file system and shell takes c as it is.
func safe(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

// percent returns the percent-encoding of a byte, in lower case.
func percent(c byte) string { return fmt.Sprintf("%%%02x", c) }

// unreserve encodes the first byte of names that Windows reserves for devices, such as
// con. Windows reserves them with any extension.
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

// shorten appends the extension. If the result is too long, a hash of s replaces
// the end of s. The hash begins with %h, which encode never returns. So a
// shortened name never equals one that is not.
func shorten(s, extension string) string {
	if len(s)+len(extension) <= maxComponent {
		return s + extension
	}
	sum := fmt.Sprintf("%%h%x", sha256.Sum256([]byte(s)))
	return s[:maxComponent-len(sum)-len(extension)] + sum + extension
}

// maxDirs is the largest number of directories above a file: that of a cluster, and that of a
// namespace.
const maxDirs = 2

// valid reports whether a path has the form of a result of Path or In. Files with other paths
// are neither written nor removed.
func valid(path string) bool {
	base, yaml := strings.CutSuffix(path, extension)
	parts := strings.Split(base, "/")
	for _, part := range parts {
		if !validComponent(part) {
			return false
		}
	}
	return yaml && 1 < len(parts) && len(parts) <= maxDirs+1
}

// validComponent reports whether s can be one component of a result of Path. A leading
// dot is excluded, and with it "." and "..".
func validComponent(s string) bool {
	for i := range len(s) {
		if !safe(s[i]) && s[i] != '%' {
			return false
		}
	}
	return s != "" && s[0] != '.' && len(s) <= maxComponent
}
