package crdgen

import (
	"net/netip"
	"time"

	"cuelang.org/go/cue"
	cuenet "cuelang.org/go/pkg/net"
)

// format is the name of a builtin that validates strings.
type format string

const (
	formatDuration format = "time.Duration"
	formatTime     format = "time.Time"
	formatIP       format = "net.IP"
	formatIPv4     format = "net.IPv4"
	formatIPv6     format = "net.IPv6"
	formatCIDR     format = "net.IPCIDR"
	formatFQDN     format = "net.FQDN"
)

func formatOf(name string) (format, bool) {
	switch f := format(name); f {
	case formatDuration, formatTime, formatIP, formatIPv4, formatIPv6, formatCIDR, formatFQDN:
		return f, true
	default:
		_, ok := f.layout()
		return f, ok
	}
}

// ofFormat narrows the strings among the kinds of a validator.
func ofFormat(f format, kinds cue.Kind) shape {
	if kinds == cue.TopKind {
		// Addresses may be lists of bytes.
		kinds = cue.StringKind | cue.ListKind
	}
	s := ofKinds(kinds)
	for i := range s {
		if s[i].kind == cue.StringKind {
			s[i].str.formats = []format{f}
		}
	}
	return s
}

// pattern matches every string of the format, and few others: it is what an API
// server can check without CEL, and its message comes first.
func (f format) pattern() string {
	switch f {
	case formatDuration:
		return `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	case formatTime:
		return `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})$`
	case formatCIDR:
		return `^[0-9a-fA-F:.]+/[0-9]{1,3}$`
	case formatFQDN:
		// CUE takes two dots at the end for one.
		return `^[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63})*\.{0,2}$`
	}
	if layout, ok := f.layout(); ok {
		return layoutPattern(layout)
	}
	return `^[0-9a-fA-F:.]+(%.+)?$`
}

// admits says whether CUE takes s, with the functions that it uses.
func (f format) admits(s string) bool {
	var err error
	var addr netip.Addr
	switch f {
	case formatDuration:
		_, err = time.ParseDuration(s)
	case formatTime:
		_, err = time.Parse(time.RFC3339Nano, s)
	case formatCIDR:
		_, err = netip.ParsePrefix(s)
	case formatFQDN:
		return cuenet.FQDN(s)
	default:
		if layout, ok := f.layout(); ok {
			_, err = time.Parse(layout, s)
			return err == nil
		}
		addr, err = netip.ParseAddr(s)
	}
	return err == nil && (f != formatIPv4 || addr.Is4()) && (f != formatIPv6 || addr.Is6())
}

// holds says in CEL that the string v has the format. CEL knows neither zones of
// addresses nor IPv4 addresses in IPv6, and of the years only those from 1 to
// 9999: what concerns them it leaves to rendering.
func (f format) holds(v string) predicate {
	text := ""
	mapped := v + ".lowerAscii().contains('ffff:')"
	switch f {
	case formatDuration:
		return predicate{text: "duration(" + v + ") == duration(" + v + ")", exact: true, fallible: true}
	case formatTime:
		text = v + ".startsWith('000') || " + v + ".startsWith('9999') || timestamp(" + v + ") == timestamp(" + v + ")"
	case formatIP:
		text = "isIP(" + v + ") || " + v + ".contains('%') || " + mapped
	case formatIPv4:
		return predicate{text: "isIP(" + v + ") && ip(" + v + ").family() == 4", exact: true}
	case formatIPv6:
		text = "isIP(" + v + ") && ip(" + v + ").family() == 6 || " + v + ".contains('%') || " + mapped
	case formatCIDR:
		text = "isCIDR(" + v + ") || " + mapped
	default:
		return f.holdsDate(v)
	}
	return predicate{text: text, fallible: f == formatTime}
}

// rest is what holds leaves to rendering.
func (f format) rest() string {
	switch f {
	case formatTime:
		return string(f) + " in the years 0 to 9 and 9999"
	case formatIP, formatIPv6, formatCIDR:
		return string(f) + " with zones or with IPv4 addresses in IPv6"
	case formatFQDN:
		return string(f) + ", where hyphens may stand and how long it may be,"
	}
	switch layout, ok := f.layout(); {
	case layout == dateOnly:
		return string(f) + " in the years 0 to 9 and 9999"
	case ok:
		return string(f) + ", which days there are and which times,"
	}
	return string(f)
}
