package faults

import (
	"fmt"
	"os"
	"syscall"
)

// Reserve binds a free port without listening, and returns its address: connections to it are
// refused, and no other process is given the port until the file is closed. A process that is told the
// address may listen at it.
func Reserve() (*os.File, string, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, "", err
	}
	syscall.CloseOnExec(fd)
	socket := os.NewFile(uintptr(fd), "reserved port")
	address, err := bind(fd)
	if err != nil {
		_ = socket.Close()
	}
	return socket, address, err
}

// bind binds a socket to a free port of the loopback interface.
func bind(fd int) (string, error) {
	// Listeners of Go have this option, too. Without it, only one of two sockets gets a port.
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return "", err
	}
	at, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("%T is no address", name)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.Port), nil
}
