// Command registry serves an empty registry of OCI artifacts on the loopback interface
// until an interrupt. It keeps everything in memory. The tutorial uses it.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	address := flag.String("address", "localhost:5001", "`HOST:PORT` to listen on")
	flag.Parse()
	if err := serve(*address); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

// serve serves a registry at an address until an interrupt.
func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("a registry listens on %s until Ctrl-C\n", listener.Addr())
	server := http.Server{
		Handler:           registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)),
		ReadHeaderTimeout: 10 * time.Second,
	}
	return server.Serve(listener)
}
