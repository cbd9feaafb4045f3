package child

import (
	"syscall"

	"github.com/pequod-io/pequod/internal/confine"
)

// restrict takes rights from the process that no evaluation needs: it has its pipes, and can read no
// files, start nothing, connect to nothing, and leave no core file with the data of
// instances. Where the kernel has no Landlock, it still can't write files.
func restrict() error {
	for _, resource := range []int{syscall.RLIMIT_FSIZE, syscall.RLIMIT_CORE} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{}) // lowering a limit is always allowed
	}
	return confine.Room{}.Enter()
}
