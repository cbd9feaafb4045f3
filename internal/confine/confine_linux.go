package confine

import (
	"os"
	"os/exec"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The rights of directories. Files take those of [ofFiles] among them.
const (
	read  = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSReadDir)
	run   = read | ll.AccessFSExecute
	write = read | ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym |
		ll.AccessFSRefer | ll.AccessFSTruncate
	ofFiles = landlock.AccessFSSet(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate)
)

// Missing returns what the kernel can't limit, for messages, or "".
func Missing() string {
	switch version, err := ll.LandlockGetABIVersion(); {
	case err != nil:
		return "files, programs and connections: the kernel has no Landlock, or it is disabled"
	case version < 2:
		return "files, programs and connections: Landlock of Linux 5.19 or later is needed"
	case version < 4:
		return "connections: Landlock of Linux 6.7 or later is needed"
	}
	return ""
}

// config returns what is limited, and rules what is permitted nevertheless.
func (r Room) config() (config landlock.Config, rules []landlock.Rule) {
	config = landlock.V10
	if r.Network {
		// Without the limits of connections, those of Unix sockets included.
		config = landlock.Config{HandledAccessFS: landlock.V5.HandledAccessFS}
	}
	for _, part := range []struct {
		names  []string
		rights landlock.AccessFSSet
	}{{r.Read, read}, {append([]string{os.DevNull}, r.Write...), write}, {r.Run, run}, {r.Empty, ll.AccessFSRemoveDir}} {
		for _, name := range part.names {
			info, err := os.Stat(name)
			switch {
			case err != nil: // it can't be read then
			case info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0: // Landlock has no rules for them
			case info.IsDir():
				rules = append(rules, landlock.PathAccess(part.rights, name).IgnoreIfMissing())
			default:
				rules = append(rules, landlock.PathAccess(part.rights&ofFiles, name).IgnoreIfMissing())
			}
		}
	}
	if !r.Network {
		for _, port := range r.Ports {
			rules = append(rules, landlock.ConnectTCP(port))
		}
	}
	return config.BestEffort(), rules
}

// Enter limits the calling process.
func (r Room) Enter() error {
	config, rules := r.config()
	entered.Store(Missing() == "")
	return config.Restrict(rules...)
}

// Start starts a command that is limited.
//
// A thread passes its limits on to the processes that it starts. So a thread limits itself,
// starts the process, and ends, because its goroutine never unlocks it.
func (r Room) Start(cmd *exec.Cmd) error {
	config, rules := r.config()
	set, flags, err := config.NewRulesetFD(rules...)
	if err != nil {
		return err
	}
	if set < 0 {
		return cmd.Start() // the kernel has no Landlock
	}
	defer unix.Close(set) // it is not needed once the thread is limited
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = ll.LandlockRestrictSelf(set, flags)
		}
		if err != nil {
			started <- os.NewSyscallError("landlock_restrict_self", err)
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}
