// Package server is the HTTP server of pequod ui: it lets one person on this machine read
// the page, and nothing else.
//
//   - server.go: the server and its handlers
//   - guard.go: the checks of every request
//   - session.go: the address with a token, and the cookie that replaces it
//   - stream.go: server-sent events
//
// [Listen] is the entry point. Whoever may connect to a loopback address is not trusted:
// other users of the machine, and pages of other sites in the same browser. So a request
// needs the cookie, which only the holder of the token gets, and a Host, an Origin and
// Sec-Fetch-Site of a page of this server. The page is below a random path, because cookies
// are sent to all ports of a host, and the paths of other servers differ.
package server
