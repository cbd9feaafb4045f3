package gitfs

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Revision is a revision of the git repository that contains the working directory.
type Revision struct {
	// Tree has all files of the revision. Its root is the root of the repository.
	*Tree
	// Repository is the name of the repository: the directory of its work tree, or
	// the directory of a bare repository without the extension .git.
	Repository string

	// name is the name of the revision as the user wrote it.
	name string
	// prefix is the working directory relative to the root of the work tree,
	// slash-separated. It is empty at the root and in a bare repository.
	prefix string
}

// Cut splits an argument of the form REV:PATH. It returns false for all others,
// such as absolute paths with a drive.
func Cut(arg string) (rev, file string, ok bool) {
	if filepath.IsAbs(arg) {
		return "", "", false
	}
	return strings.Cut(arg, ":")
}

// Open finds a revision, such as "main", "v1.2.0" or "HEAD~2". Its errors are
// complete messages except for the argument of the user, which callers put in front.
//
// The revision is determined once, so files that are read later fit together even if
// the branch moves meanwhile. When ctx is done, files can't be read anymore.
func Open(ctx context.Context, rev string) (*Revision, error) {
	run := func(args ...string) ([]byte, error) { return Git(ctx, "", args...) }
	// The working directory has to be known because paths are relative to it. git
	// itself takes relative paths in work trees only; see <rev>:<path> in
	// gitrevisions(7).
	out, err := run("rev-parse", "--show-prefix", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	prefix, common, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	common, err = filepath.Abs(common)
	if err != nil {
		return nil, err
	}
	if filepath.Base(common) == ".git" {
		common = filepath.Dir(common)
	}
	// git would take such a name for an option. The index has an empty name.
	if rev == "" || strings.HasPrefix(rev, "-") {
		return nil, fmt.Errorf("%q is not a git revision; name a branch, a tag or a commit", rev)
	}
	object, err := run("rev-parse", "--verify", "--quiet", rev+"^{tree}")
	if isAbsent(err) {
		return nil, missing(ctx, fmt.Sprintf("no git revision %q", rev))
	}
	if err != nil {
		return nil, err
	}
	r := &Revision{
		Repository: strings.TrimSuffix(filepath.Base(common), ".git"),
		name:       rev,
		prefix:     path.Clean(prefix),
	}
	r.Tree = New(command{run, newBatch(ctx)}, strings.TrimSpace(string(object)), r.Shown)
	return r, nil
}

// Path returns the name in Tree of a file that is relative to the working directory,
// and false if it is outside of the repository.
func (r *Revision) Path(file string) (string, bool) {
	file = filepath.ToSlash(file)
	name := path.Join(r.prefix, file)
	return name, !path.IsAbs(file) && filepath.IsLocal(filepath.FromSlash(name))
}

// Shown returns the name of a file of Tree for messages: REV:PATH, with the path
// relative to the working directory.
func (r *Revision) Shown(name string) string {
	rel, err := filepath.Rel(filepath.FromSlash(r.prefix), filepath.FromSlash(name))
	if err != nil {
		rel = name // cannot happen: both are relative to the root
	}
	return r.name + ":" + filepath.ToSlash(rel)
}

// command reads objects with the git command until the context of [Open] is done: run lists a
// directory, and all files are read by one process.
type command struct {
	run   func(args ...string) ([]byte, error)
	blobs *batch
}

// Entries implements [Objects].
func (c command) Entries(tree string) ([]Entry, error) {
	// -z separates entries by zero bytes and doesn't quote names:
	// MODE SP TYPE SP OBJECT SP+ SIZE TAB NAME
	out, err := c.run("ls-tree", "--full-tree", "-l", "-z", tree)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		fields, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(fields)
		if len(f) != 4 {
			continue // an empty tree
		}
		size, _ := strconv.ParseInt(f[3], 10, 64) // "-" for a directory
		entries = append(entries, Entry{Name: name, Mode: f[0], Size: size, Object: f[2]})
	}
	return entries, nil
}

// Blob implements [Objects].
func (c command) Blob(object string) ([]byte, error) { return c.blobs.blob(object) }
