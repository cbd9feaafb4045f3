package shape

import (
	"regexp"
	"strings"
	"testing"
	"time"

	cuenet "cuelang.org/go/pkg/net"
)

// What a format admits, its pattern matches: an API server with the pattern must
// not reject what CUE takes.
func TestFormatPatterns(t *testing.T) {
	date, _ := LayoutFormat("2006-01-02")
	compact, _ := LayoutFormat("20060102T150405")
	clock, _ := LayoutFormat("15:04")
	formats := []Format{FormatDuration, FormatTime, FormatIP, FormatIPv4, FormatIPv6, FormatCIDR, FormatFQDN, date, compact, clock}
	var texts []string
	// Every short text of the characters that matter, in any place of a host name.
	const first, last = 0x20, 0x7e
	for a := first; a <= last; a++ {
		texts = append(texts, string(rune(a)))
		for b := first; b <= last; b++ {
			texts = append(texts, string([]rune{rune(a), rune(b)}), string([]rune{'x', rune(a), rune(b), 'y'}), string([]rune{rune(a), '.', rune(b)}))
		}
	}
	moment := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02", "20060102T150405", "15:04", "15:04:05.999", "2006-1-2", "3:04"} {
		for i := range 300 {
			texts = append(texts, moment.AddDate(i*33, i, i*5).Add(time.Duration(i)*7919*time.Millisecond).Format(layout))
		}
	}
	texts = append(texts, "1.2.3.4", "::", "::ffff:1.2.3.4", "fe80::1%eth0", "1.2.3.4/8", "::/0", "1h2.5m", "-3µs", "+.5s", "0", strings.Repeat("a", 63)+".b", "9:05", "24:00", "0000-01-01", "2024-02-29")
	for _, f := range formats {
		re := regexp.MustCompile(f.Pattern())
		admitted := 0
		for _, s := range texts {
			if !f.admits(s) {
				continue
			}
			admitted++
			if !re.MatchString(s) {
				t.Errorf("%s admits %q, which %s doesn't match", f, s, re)
			}
		}
		if admitted == 0 {
			t.Errorf("%s admits none of the texts", f)
		}
	}
}

func TestLayoutsWithoutPattern(t *testing.T) {
	for _, layout := range []string{"Jan 2006", "2006-1-2", "3:04PM", "15:04:05.000", "2006-01-02 15:04", "Z07:00", ""} {
		if f, ok := LayoutFormat(layout); ok && layout != "" {
			t.Errorf("%s has the pattern %s", layout, f.Pattern())
		}
	}
}

// isFQDN replaces CUE's net.FQDN, so that the package doesn't import CUE.
func TestFQDN(t *testing.T) {
	for _, s := range []string{
		"", ".", "a", "a.", "a..", "a.b", "a..b", "-a", "a-", "a--b", "A.B", "a_b", "ä.b", "\xff", "xn--a", "xn--bcher-kva.example", "1.2.3.4",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 127), strings.Repeat("a.", 130), "a b", "a\u3002b", "*.a", "a/b",
	} {
		if got, want := isFQDN(s), cuenet.FQDN(s); got != want {
			t.Errorf("isFQDN(%q) = %t, net.FQDN says %t", s, got, want)
		}
	}
}
