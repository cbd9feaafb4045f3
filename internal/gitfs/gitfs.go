// Package gitfs reads files of a revision of a git repository, as an fs.FS, and
// describes the commit that is checked out.
//
// The entry points for a repository on disk are [Open] and [Head]. They run the user's git
// command, because only that command knows every way to name a revision. They check
// nothing out, write nothing, and need no work tree: bare repositories are read in the
// same way. [New] is the entry point for objects that are elsewhere, such as in memory.
//
// [NewCopy] writes files of a commit to a directory on demand, for readers that need one.
//
// revision.go finds the revision, tree.go finds its files, fs.go has the methods of the file system, copy.go
// writes files to disk, base.go finds the base of a branch, head.go describes the commit, command.go
// runs git, and batch.go has it read objects.
package gitfs
