package mcp

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pequod-io/pequod/modules/cache"
)

// The rights that a rule grants. A file takes those of the first two.
const (
	readFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	readTree  = readFiles | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = readFiles | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writeTree = readTree | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// startConfined starts a process that can read the directory of the server and also, write to
// the cache and to a directory of its own, and without network connect to nothing. A kernel
// without Landlock starts it without these limits.
//
// A thread passes its limits on to the processes that it starts. So a thread limits itself,
// starts the process, and ends, because its goroutine never unlocks it.
func (r *runner) startConfined(cmd *exec.Cmd, own string, also []string) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := r.confineThread(own, also); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}

// confineThread limits the calling thread with Landlock.
func (r *runner) confineThread(own string, also []string) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil // the kernel has no Landlock, or it is disabled
	}
	attr := unix.LandlockRulesetAttr{Access_fs: 1<<13 - 1} // all rights of the first version
	if abi >= 2 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 && !r.network {
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	size := unsafe.Sizeof(attr.Access_fs)
	if abi >= 4 {
		size += unsafe.Sizeof(attr.Access_net)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(fd)) // it is not needed once the thread is limited
	for _, name := range append(r.readable(), also...) {
		if err := allow(int(fd), name, readTree&attr.Access_fs); err != nil {
			return err
		}
	}
	// git opens the null device for writing, too.
	for _, name := range []string{own, os.DevNull} {
		if err := allow(int(fd), name, writeTree&attr.Access_fs); err != nil {
			return err
		}
	}
	if cached, err := cache.FromEnvironment(os.LookupEnv); err == nil && cached.Dir != "" {
		if err := allow(int(fd), cached.Dir, writeTree&attr.Access_fs); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// readable returns the files and directories that a process needs. Some may not exist.
func (r *runner) readable() []string {
	all := []string{r.dir, r.program, "/lib", "/lib64", "/usr/lib", "/usr/share/zoneinfo"}
	if config, err := os.UserConfigDir(); err == nil {
		all = append(all, filepath.Join(config, "pequod"))
	}
	if r.network {
		all = append(all, "/etc", "/usr/share/ca-certificates")
	}
	// The settings of the repository that the directory is a part of.
	for at := r.dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		all = append(all, filepath.Join(at, "pequod.yaml"), filepath.Join(at, "pequod.lock"))
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if info.Mode().IsRegular() {
				all = append(all, filepath.Join(at, ".git")) // the name of the repository of a linked worktree
			}
			break
		}
	}
	return all
}

// allow adds a rule to a set: it grants rights to a file, or to a directory and all below
// it. A name that doesn't exist is left out.
func allow(set int, name string, rights uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd) // the rule keeps what it needs
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= writeFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}
