package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/pequod-io/pequod/cli/kube"
)

// clusterAccess is the door of processes to the cluster: a server on this machine that forwards requests
// which only read. The processes have no credentials but its address, which has a secret.
type clusterAccess struct {
	names   kube.Names
	address *url.URL
	port    uint16
}

// serveCluster opens the door until ctx is done.
func serveCluster(ctx context.Context, flags *kube.ConnectionFlags) (*clusterAccess, error) {
	names, err := flags.Selected()
	if err != nil {
		return nil, err
	}
	secret := "/" + rand.Text()
	handler, err := flags.Reader(secret)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // can't happen: the listener is open
		}
	}()
	return &clusterAccess{
		names: names, address: &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: secret},
		port: uint16(listener.Addr().(*net.TCPAddr).Port),
	}, nil
}

// flags writes a kubeconfig to a directory, and returns the flags of a command for the cluster.
func (c *clusterAccess) flags(dir string) ([]string, error) {
	flags, err := c.names.WriteConfig(filepath.Join(dir, "kubeconfig"), c.address)
	return append(flags, "--cache-dir="+filepath.Join(dir, "kube")), err
}
