package child

import "syscall"

// restrict takes rights from the process that no evaluation needs: it can't write files or
// leave a core file with the data of instances.
func restrict() {
	for _, resource := range []int{syscall.RLIMIT_FSIZE, syscall.RLIMIT_CORE} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{}) // lowering a limit is always allowed
	}
}
