package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Allowed is a list of hosts and networks that may be connected to.
type Allowed struct {
	hosts    []host
	networks []netip.Prefix
	// plain allows addresses in the networks without TLS.
	plain bool
	// flag is named in errors.
	flag string
}

// host is an entry for names.
type host struct {
	name  string // example.com, .example.com for all below it, or * for all
	plain bool   // also over HTTP without TLS
}

// ParseAllowed parses entries: a host such as api.github.com, all hosts below a name such as
// *.example.com, all hosts "*", or a network such as 10.0.0.0/8. The prefix http:// allows a
// host without TLS. Hosts whose addresses are not public need a network, too; a host that is
// written as an address in a network needs no other entry.
func ParseAllowed(entries []string) (Allowed, error) {
	a := Allowed{flag: "--allow-egress"}
	for _, entry := range entries {
		name, plain := strings.CutPrefix(strings.ToLower(strings.TrimSpace(entry)), "http://")
		if network, err := netip.ParsePrefix(name); err == nil && !plain {
			a.networks = append(a.networks, network.Masked())
			continue
		}
		bare := strings.TrimPrefix(name, "*.")
		if name != "*" && (bare == "" || strings.ContainsAny(bare, "*/@: ")) {
			return a, fmt.Errorf("%q is not a host, *.DOMAIN, * or a network such as 10.0.0.0/8", entry)
		}
		if bare != name {
			bare = "." + bare
		}
		a.hosts = append(a.hosts, host{bare, plain})
	}
	return a, nil
}

// ParseNetworks parses networks, such as those of Pods. Only addresses in them are allowed, also
// without TLS, and no names. Errors name the flag that the entries are of.
func ParseNetworks(flag string, entries []string) (Allowed, error) {
	a := Allowed{flag: flag, plain: true}
	for _, entry := range entries {
		network, err := netip.ParsePrefix(strings.TrimSpace(entry))
		if err != nil {
			return a, fmt.Errorf("%q is not a network such as 10.244.0.0/16", entry)
		}
		a.networks = append(a.networks, network.Masked())
	}
	return a, nil
}

// Check returns an error if an address must not be requested. What the name of its host resolves to is
// checked when it is dialled.
func (a Allowed) Check(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the address is not valid") // the error quotes it
	}
	if why := a.checkURL(u); why != "" {
		return errors.New(why)
	}
	return nil
}

// checkURL returns why an address must not be requested, or "".
func (a Allowed) checkURL(u *url.URL) string {
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || name == "" || u.User != nil:
		return "the address must begin with https://HOST, without a user"
	}
	listed, plain := false, false
	for _, h := range a.hosts {
		if h.name == "*" || h.name == name || h.name[0] == '.' && strings.HasSuffix(name, h.name) {
			listed, plain = true, plain || h.plain
		}
	}
	if ip, err := netip.ParseAddr(name); err == nil && a.inNetwork(ip) {
		listed, plain = true, plain || a.plain
	}
	switch {
	case !listed:
		return fmt.Sprintf("host %s is not allowed; see %s of pequod-actions", name, a.flag)
	case u.Scheme == "http" && !plain:
		return fmt.Sprintf("host %s is not allowed without TLS; see %s of pequod-actions", name, a.flag)
	}
	return ""
}

// checkAddress returns why an address must not be dialled, or "".
func (a Allowed) checkAddress(ip netip.Addr) string {
	ip = ip.Unmap()
	if a.inNetwork(ip) || public(ip) && !a.plain {
		return ""
	}
	return fmt.Sprintf("address %s is not public, and in no network of %s of pequod-actions", ip, a.flag)
}

func (a Allowed) inNetwork(ip netip.Addr) bool {
	for _, n := range a.networks {
		if n.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

// reserved are networks that are not public, and that netip doesn't know as such: shared and
// special addresses of RFC 6890, and those that embed IPv4 addresses (NAT64, 6to4). The metadata of
// Azure has a public address, see learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
		netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("168.63.129.16/32"),
	}
}

// public reports whether an address is one of the internet.
func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return false
	}
	for _, n := range reserved() {
		if n.Contains(ip) {
			return false
		}
	}
	return true
}
