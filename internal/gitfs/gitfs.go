// Package gitfs reads files of a revision of a git repository, as an fs.FS, and
// describes the commit that is checked out.
//
// The entry points are [Open] and [Head]. The package runs the user's git command, because only
// that command knows every way to name a revision. It checks nothing out, writes
// nothing, and needs no work tree: bare repositories are read in the same way.
//
// revision.go finds the revision, tree.go finds its files, fs.go has the methods of
// the file system, and head.go the commit.
package gitfs
