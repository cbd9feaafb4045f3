package shape

import (
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Format is the name of a builtin of CUE that validates strings, such as
// net.IP, or a call of time.Format with its layout.
type Format string

const (
	// The formats that have a fixed name. [LayoutFormat] makes those with a
	// layout.
	FormatDuration Format = "time.Duration"
	FormatTime     Format = "time.Time"
	FormatIP       Format = "net.IP"
	FormatIPv4     Format = "net.IPv4"
	FormatIPv6     Format = "net.IPv6"
	FormatCIDR     Format = "net.IPCIDR"
	FormatFQDN     Format = "net.FQDN"
)

// FormatOf returns the format of the builtin called name. It reports false if
// the builtin isn't a format that this package knows.
func FormatOf(name string) (Format, bool) {
	switch f := Format(name); f {
	case FormatDuration, FormatTime, FormatIP, FormatIPv4, FormatIPv6, FormatCIDR, FormatFQDN:
		return f, true
	default:
		_, ok := f.Layout()
		return f, ok
	}
}

// Pattern returns a regular expression that matches every string that f admits,
// and few others. An API server can check it without CEL, and does so first, so
// that its message is the one that users see.
func (f Format) Pattern() string {
	switch f {
	case FormatDuration:
		return `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	case FormatTime:
		return `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})$`
	case FormatIPv4:
		return `^(` + octet + `\.){3}` + octet + `$`
	case FormatCIDR:
		return `^[0-9a-fA-F:.]+/[0-9]{1,3}$`
	case FormatFQDN:
		// CUE accepts a name with two dots at the end.
		return `^[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63})*\.{0,2}$`
	}
	if layout, ok := f.Layout(); ok {
		return layoutPattern(layout)
	}
	return `^[0-9a-fA-F:.]+(%.+)?$`
}

// octet is a regular expression for a part of an IPv4 address. Leading zeros are
// not allowed.
const octet = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`

// IsExact reports whether f admits every string that matches its pattern.
func (f Format) IsExact() bool { return f == FormatIPv4 }

// admits reports whether CUE admits s. It uses the same functions of the
// standard library as CUE's builtins.
func (f Format) admits(s string) bool {
	var err error
	var addr netip.Addr
	switch f {
	case FormatDuration:
		_, err = time.ParseDuration(s)
	case FormatTime:
		_, err = time.Parse(time.RFC3339Nano, s)
	case FormatCIDR:
		_, err = netip.ParsePrefix(s)
	case FormatFQDN:
		return isFQDN(s)
	default:
		if layout, ok := f.Layout(); ok {
			_, err = time.Parse(layout, s)
			return err == nil
		}
		addr, err = netip.ParseAddr(s)
	}
	return err == nil && (f != FormatIPv4 || addr.Is4()) && (f != FormatIPv6 || addr.Is6())
}

// idnaProfile is the profile of CUE's net.FQDN. TestFQDN compares the two.
var idnaProfile = idna.New(idna.MapForLookup(), idna.VerifyDNSLength(true))

// isFQDN reports whether CUE's net.FQDN admits s.
func isFQDN(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	_, err := idnaProfile.ToASCII(strings.TrimSuffix(s, "."))
	return err == nil
}
