// Package sshgit serves the git repositories of this machine by ssh, as git servers do, to tests.
// [Serve] is the entry point.
package sshgit

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// NewKey returns a new key and its signer.
func NewKey(t testing.TB) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, signer
}

// Serve starts a server for one user's key, which runs git, and returns its address.
func Serve(t testing.TB, host ssh.Signer, user ssh.PublicKey) string {
	t.Helper()
	return serve(t, host, user, upload)
}

// ServeSilence is as [Serve], but the server accepts commands and never answers.
func ServeSilence(t testing.TB, host ssh.Signer, user ssh.PublicKey) string {
	t.Helper()
	return serve(t, host, user, func(ssh.Channel, string) {})
}

// ServeAnswer is as [Serve], but answer writes what the server answers to commands.
func ServeAnswer(t testing.TB, host ssh.Signer, user ssh.PublicKey, answer func(io.Writer)) string {
	t.Helper()
	return serve(t, host, user, func(c ssh.Channel, _ string) { answer(c) })
}

// ServeDrip is as [Serve], but the server answers commands with a byte now and then.
func ServeDrip(t testing.TB, host ssh.Signer, user ssh.PublicKey) string {
	t.Helper()
	return serve(t, host, user, func(c ssh.Channel, _ string) {
		for next := "fff0"; ; next = "x" { // a line, with its length
			if _, err := c.Write([]byte(next)); err != nil {
				return // the client is gone
			}
			time.Sleep(200 * time.Millisecond) // a byte is a packet of some 40
		}
	})
}

// serve starts a server that calls run for each command.
func serve(t testing.TB, host ssh.Signer, user ssh.PublicKey, run func(c ssh.Channel, command string)) string {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(user.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	// Clients prefer this key, which they don't know.
	unknown, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(unknown)
	if err != nil {
		t.Fatal(err)
	}
	config.AddHostKey(signer)
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go serveConnection(conn, config, run)
		}
	}()
	return listener.Addr().String()
}

// serveConnection calls run for each command of the sessions of a connection.
func serveConnection(conn net.Conn, config *ssh.ServerConfig, run func(ssh.Channel, string)) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return // the client has no right to connect
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				if r.WantReply {
					_ = r.Reply(r.Type == "exec", nil)
				}
				if r.Type != "exec" {
					continue
				}
				var payload struct{ Command string }
				_ = ssh.Unmarshal(r.Payload, &payload)
				run(channel, payload.Command)
			}
		}()
	}
}

// upload runs git-upload-pack in a session.
func upload(channel ssh.Channel, command string) {
	dir := strings.Trim(strings.TrimPrefix(command, "git-upload-pack "), "'")
	cmd := exec.Command("git", "upload-pack", dir)
	stdin, _ := cmd.StdinPipe()
	go func() { _, _ = io.Copy(stdin, channel); _ = stdin.Close() }()
	cmd.Stdout = channel
	status := struct{ Status uint32 }{}
	if cmd.Run() != nil {
		status.Status = 1
	}
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
	_ = channel.Close()
}
