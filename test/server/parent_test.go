package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/server"
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
	fmt.Println(s.Kubeconfig(), s.Pid())
	select {}
}

// A server ends by itself and deletes its data if its parent is killed and cannot
// stop it.
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
	kubeconfig, number, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
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

	// How long it takes to stop is the machine's affair: each component has some
	// seconds, and then there is the database. What counts is that it ends, and
	// what it leaves behind when it has.
	for deadline := time.Now().Add(3 * time.Minute); !ended(pid) || answers(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server runs on")
		}
	}
	if _, err := os.Stat(filepath.Dir(kubeconfig)); !os.IsNotExist(err) {
		t.Errorf("the server has ended, and its data is there: %v", err)
	}
}

// ended reports whether a process has ended that is not a child of this one. If
// no process collects orphans, an ended process stays in the process table.
func ended(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return errors.Is(err, syscall.ESRCH)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // there is no such directory here, or it ended just now
	}
	// Before the state there is the name in brackets.
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return strings.HasPrefix(state, "Z")
}
