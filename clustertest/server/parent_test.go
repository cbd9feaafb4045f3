package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/clustertest/server"
)

// asParent makes the test binary a program that starts a server and waits to
// be killed.
const asParent = "PEQUOD_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	s, err := server.Start(context.Background(), server.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Kubeconfig())
	select {}
}

// A server whose parent is killed, so that nobody tells it to stop, ends by
// itself and takes its data with it.
func TestServerEndsWithItsParent(t *testing.T) {
	if _, err := server.Build(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	answers := func() bool {
		connection, err := net.Dial("tcp", address.Host)
		if err != nil {
			return false
		}
		connection.Close()
		return true
	}
	if !answers() {
		t.Fatal("the server doesn't answer while its parent lives")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// That it was killed is no news.
	_ = parent.Wait()

	data := filepath.Dir(strings.TrimSpace(line))
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := os.Stat(data)
		if !answers() && os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server answers: %v; its data: %v", answers(), err)
		}
	}
}
