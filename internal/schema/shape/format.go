package shape

import (
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// format is the name of a builtin that validates strings.
type Format string

const (
	FormatDuration Format = "time.Duration"
	FormatTime     Format = "time.Time"
	FormatIP       Format = "net.IP"
	FormatIPv4     Format = "net.IPv4"
	FormatIPv6     Format = "net.IPv6"
	FormatCIDR     Format = "net.IPCIDR"
	FormatFQDN     Format = "net.FQDN"
)

func FormatOf(name string) (Format, bool) {
	switch f := Format(name); f {
	case FormatDuration, FormatTime, FormatIP, FormatIPv4, FormatIPv6, FormatCIDR, FormatFQDN:
		return f, true
	default:
		_, ok := f.Layout()
		return f, ok
	}
}

// ofFormat narrows the strings among the kinds of a validator.
func OfFormat(f Format, kinds Kind) Shape {
	if kinds == TopKind {
		// Addresses may be lists of bytes.
		kinds = StringKind | ListKind
	}
	s := OfKinds(kinds)
	for i := range s {
		if s[i].Kind == StringKind {
			s[i].Strings.Formats = []Format{f}
		}
	}
	return s
}

// pattern matches every string of the format, and few others: it is what an API
// server can check without CEL, and its message comes first.
func (f Format) Pattern() string {
	switch f {
	case FormatDuration:
		return `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	case FormatTime:
		return `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})$`
	case FormatCIDR:
		return `^[0-9a-fA-F:.]+/[0-9]{1,3}$`
	case FormatFQDN:
		// CUE takes two dots at the end for one.
		return `^[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63})*\.{0,2}$`
	}
	if layout, ok := f.Layout(); ok {
		return layoutPattern(layout)
	}
	return `^[0-9a-fA-F:.]+(%.+)?$`
}

// admits says whether CUE takes s, with the functions that it uses.
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

// idnaProfile is the profile of CUE's net.FQDN.
var idnaProfile = idna.New(idna.MapForLookup(), idna.VerifyDNSLength(true))

// isFQDN reports whether CUE's net.FQDN admits s.
func isFQDN(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	_, err := idnaProfile.ToASCII(strings.TrimSuffix(s, "."))
	return err == nil
}
