package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
)

// place is where the files of a repository are looked for. Links in its paths are resolved.
type place struct {
	// searched are the directory of a command and those above it, the nearest first. The
	// last one is the root of a git repository that the user trusts, the home directory,
	// or the root of the file system.
	searched []string
	// root is the root of the git repository, or "".
	root   string
	owners ownership
}

// placeOf returns the place of the working directory, or of the directory in env.
func placeOf(env command.Env) (place, error) {
	dir, err := os.Getwd()
	if env.Dir != "" {
		dir, err = filepath.Abs(env.Dir)
	}
	if err == nil {
		// The directories above a link are not those of the repository that it leads to.
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return place{}, command.FileError(err)
	}
	home := variable(env, "HOME", "USERPROFILE")
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return search(dir, home, ownership{uid: ownerOf, self: selves(env)}), nil
}

// search returns the place of dir. A .git of another user doesn't end the search: whoever
// may write to a directory of the repository could hide the settings above it.
func search(dir, home string, owners ownership) place {
	p := place{owners: owners}
	for {
		p.searched = append(p.searched, dir)
		git := filepath.Join(dir, ".git") // a directory, or a file in a worktree
		if _, err := os.Lstat(git); err == nil {
			if owners.trusts(git) {
				p.root = dir
				return p
			}
			if p.root == "" {
				p.root = dir
			}
		}
		above := filepath.Dir(dir)
		if above == dir || dir == home {
			return p
		}
		dir = above
	}
}

// configs returns the files pequod.yaml of a place, the nearest first, and at most limit of
// them. One of another user is an error: to ignore it would drop the rules in it.
func (p place) configs(limit int) ([]configFile, error) {
	var files []configFile
	for _, in := range p.searched {
		if len(files) == limit {
			break
		}
		path := filepath.Join(in, FileName)
		exists, err := p.own(path)
		if err != nil {
			return nil, err
		}
		if !exists {
			continue
		}
		// A repository of another user may be below the file.
		root := in
		if p.root != "" && len(p.root) < len(in) {
			root = p.root
		}
		if !inside(root, path) {
			return nil, fmt.Errorf("%s: is a link that leads out of the repository", shownPath(path))
		}
		files = append(files, configFile{path: path, repository: root})
	}
	return files, nil
}

// own reports whether there is a file at path. A file of a user who isn't trusted is an error.
func (p place) own(path string) (bool, error) {
	if exists, err := isFile(path); !exists || err != nil {
		return false, err
	}
	if uid, known := p.owners.uid(path); known && !p.owners.trusts(path) {
		return false, fmt.Errorf("%s: belongs to another user; run pequod as that user, or set PEQUOD_TRUST_UID=%d if you trust them", shownPath(path), uid)
	}
	return true, nil
}

// ownership decides whose files are trusted.
type ownership struct {
	// uid returns the owner of a file. It returns false if there is no such file or
	// the operating system has no numeric owners.
	uid func(path string) (int, bool)
	// self are the users whose files are trusted. The files of root are trusted,
	// too: root can do anything anyway.
	self []int
}

// trusts reports whether a file belongs to the user or to root. Without numeric
// owners, every file does.
func (o ownership) trusts(path string) bool {
	uid, known := o.uid(path)
	return !known || uid == 0 || slices.Contains(o.self, uid)
}
