// Package egress is the only HTTP client of pequod-actions. It connects to allowed hosts only,
// and bounds what it sends and reads.
//
// A name is resolved once, and the address that was checked is the one that is dialled, so a
// name that changes its address can't lead to another one. Loopback, link-local and private
// addresses are refused unless a network that has them is allowed; the API server is refused
// always. Redirects are never followed.
//
// [New] and [Client.Do] are the entry points; allow.go has the list of hosts.
//
// Non-goals: the package knows no servers, and adds no credentials. It ignores the proxies of
// the environment, which would hide the addresses.
package egress
