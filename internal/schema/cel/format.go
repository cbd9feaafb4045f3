package cel

import "github.com/pequod-io/pequod/internal/schema/shape"

// holdsFormat returns the predicate that the string v has the format. CEL knows
// neither zones of addresses nor IPv4 addresses in IPv6, and only the years 1 to
// 9999, so the predicates admit every string that may have one of these.
// [FormatRest] describes what is left. The predicates that compare the result of
// a conversion with itself are true if the conversion succeeds. A conversion that
// fails makes the rule fail, so they are fallible.
func holdsFormat(f shape.Format, v string) Predicate {
	text := ""
	mapped := v + ".lowerAscii().contains('ffff:')"
	switch f {
	case shape.FormatDuration:
		return Predicate{Text: "duration(" + v + ") == duration(" + v + ")", Exact: true, fallible: true}
	case shape.FormatTime:
		text = v + ".startsWith('000') || " + v + ".startsWith('9999') || timestamp(" + v + ") == timestamp(" + v + ")"
	case shape.FormatIP:
		text = "isIP(" + v + ") || " + v + ".contains('%') || " + mapped
	case shape.FormatIPv4:
		return Predicate{Text: "isIP(" + v + ") && ip(" + v + ").family() == 4", Exact: true}
	case shape.FormatIPv6:
		text = "isIP(" + v + ") && ip(" + v + ").family() == 6 || " + v + ".contains('%') || " + mapped
	case shape.FormatCIDR:
		text = "isCIDR(" + v + ") || " + mapped
	default:
		return holdsDate(f, v)
	}
	return Predicate{Text: text, fallible: f == shape.FormatTime}
}

// holdsDate returns the predicate that the string v is a date. It is [Unknown]
// for all layouts but [shape.DateOnly].
func holdsDate(f shape.Format, v string) Predicate {
	if layout, _ := f.Layout(); layout != shape.DateOnly {
		return Unknown()
	}
	at := "timestamp(" + v + " + 'T00:00:00Z')"
	return Predicate{Text: v + ".startsWith('000') || " + v + ".startsWith('9999') || " + at + " == " + at, fallible: true}
}

// FormatRest describes, for a note, what the predicate of a format doesn't
// check.
func FormatRest(f shape.Format) string {
	switch f {
	case shape.FormatTime:
		return string(f) + " in the years 0 to 9 and 9999"
	case shape.FormatIP, shape.FormatIPv6, shape.FormatCIDR:
		return string(f) + " with zones or with IPv4 addresses in IPv6"
	case shape.FormatFQDN:
		return string(f) + ", where hyphens may stand and how long it may be,"
	}
	switch layout, ok := f.Layout(); {
	case layout == shape.DateOnly:
		return string(f) + " in the years 0 to 9 and 9999"
	case ok:
		return string(f) + ", which days there are and which times,"
	}
	return string(f)
}
