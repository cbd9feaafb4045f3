package cluster

import (
	"context"
	"errors"
	"net"
	"net/url"
	"syscall"
)

// UnreachableError says in one line what is between the client and the API
// server, without the names of requests and of Go's packages.
type UnreachableError struct {
	// Server is where it was looked for, Cause why it wasn't found there.
	Server, Cause string
}

func (e *UnreachableError) Error() string {
	return "cluster " + e.Server + " can't be reached: " + e.Cause
}

// Unreachable reads an error of the way to the API server; nil if it is none.
func Unreachable(err error) *UnreachableError {
	var (
		known *UnreachableError
		sent  *url.Error
	)
	if errors.As(err, &known) {
		return known
	}
	if !errors.As(err, &sent) || errors.Is(err, context.Canceled) {
		return nil
	}
	server := sent.URL
	if u, err := url.Parse(sent.URL); err == nil && u.Host != "" {
		server = u.Scheme + "://" + u.Host
	}
	return &UnreachableError{server, networkCause(sent.Err)}
}

func networkCause(err error) string {
	var (
		errno syscall.Errno
		dns   *net.DNSError
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it doesn't answer"
	case errors.As(err, &dns):
		return dns.Err + ": " + dns.Name
	case errors.As(err, &errno):
		return errno.Error()
	}
	return err.Error()
}
