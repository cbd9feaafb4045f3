// Package files reads the files that arguments and flags name: with a bound on
// their size, from disk, stdin or a git revision.
//
// files.go reads single files and knows which ones count as input; revision.go
// reads whole trees, on disk or in git; repository.go names files for reports. The package doesn't parse anything. Its
// errors name the file first, as in "app.yaml: no such file or directory".
package files

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/settings"
)

// maxSize is the size limit of one input file, in bytes. It keeps a wrong path,
// such as a disk image or an endless device, from filling the memory.
const maxSize = 256 << 20

// IsToolConfig reports whether a file configures a tool, by its base name. Such
// files often lie in the same directories as instances and are skipped there.
func IsToolConfig(file string) bool {
	return slices.Contains([]string{settings.FileName, "kustomization.yaml", "kustomization.yml"}, filepath.Base(file))
}

// ReadFile reads a whole file. It fails if the file is larger than 256 MiB. When
// ctx is done, it returns the error of ctx at once, also while it waits for the
// writer of a pipe, and what was read until then is dropped.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	return abandon(ctx, func() ([]byte, error) {
		file, err := os.Open(name)
		if err != nil {
			return nil, command.FileError(err)
		}
		defer file.Close() // nothing was written
		return readBounded(name, file)
	})
}

// ReadStdin reads stdin to its end, like [ReadFile].
func ReadStdin(ctx context.Context, stdin io.Reader) ([]byte, error) {
	return abandon(ctx, func() ([]byte, error) { return readBounded("stdin", stdin) })
}

// abandon returns the result of read, or the error of ctx as soon as ctx is done.
// Opening and reading a pipe can't be canceled, so the goroutine then stays until the
// process ends.
func abandon(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read()
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readBounded reads r to its end. name is the name of the input in errors.
func readBounded(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	switch {
	case err != nil:
		return nil, command.FileError(err)
	case len(data) > maxSize:
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxSize>>20)
	}
	return data, nil
}

// ReadInput reads a file that was named by -f, where "-" is stdin. shown is its
// name in messages, with slashes on every system. Stdin can be read only once; a
// caller that needs it twice must keep the data.
func ReadInput(ctx context.Context, file string, stdin io.Reader) (shown string, data []byte, err error) {
	if file == "-" {
		data, err = ReadStdin(ctx, stdin)
		return "stdin", data, err
	}
	data, err = ReadFile(ctx, file)
	return filepath.ToSlash(file), data, err
}

// IsYAML reports whether the extension of name is one of YAML or JSON. JSON is
// included because every JSON document is a YAML document.
func IsYAML(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// CheckEntry returns an error unless a file in a directory that the user named is a
// regular file, or a link to one in the same directory tree. A repository that others
// wrote could otherwise make messages show lines of any file, or stop the command
// with a pipe that has no writer. Files that the user names directly are not
// checked: they may be pipes, such as /dev/stdin.
func CheckEntry(dir, file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return command.FileError(err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", filepath.ToSlash(file))
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return command.FileError(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return command.FileError(err)
	}
	if rel, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s: is a link that leads out of the directory", filepath.ToSlash(file))
	}
	return nil
}

// FindYAML returns the YAML and JSON files of a directory in lexical order. With
// recursive, it includes those of its subdirectories. Callers that read instances
// leave out configuration files of tools; see [IsToolConfig].
func FindYAML(dir string, recursive bool) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		// The directory itself is entered in any case. WalkDir returns it as it was
		// given, "./apps/" for example, and not cleaned.
		case e.IsDir() && p != dir && !recursive:
			return fs.SkipDir
		case e.Type().IsRegular() && IsYAML(p): // WalkDir follows no links, so it is in dir
			paths = append(paths, p)
		case !e.IsDir() && IsYAML(p):
			paths = append(paths, p)
			return CheckEntry(dir, p)
		}
		return nil
	})
	return paths, command.FileError(err)
}
