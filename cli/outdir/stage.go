package outdir

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// stagePrefix begins the name of the directory for staged files. It is in the output
// directory, because files cannot be renamed across file systems.
const stagePrefix = ".pequod-stage-"

// staged returns the path of the i-th staged file.
func (r *run) staged(i int) string { return r.staging + "/" + strconv.Itoa(i) }

// stage writes files to the staging directory. They need not be on disk before the
// run continues: after a power failure, objects may have lost their content, which
// the next run notices.
func (r *run) stage(files []change) error {
	for i, f := range files {
		if err := r.makeStaging(); err != nil {
			return err
		}
		err := r.change("staging", f.Path, func() error { return r.writeFile(r.staged(i), f.Data, f.mode()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// makeStaging creates the staging directory. It waits until the first file needs it,
// so a run without changes writes nothing. The random name avoids a clash with the
// directory of another user's run.
func (r *run) makeStaging() error {
	if r.staging != "" {
		return nil
	}
	r.staging = stagePrefix + strings.ToLower(rand.Text())
	return r.change("making a directory in it", "", func() error { return r.root.Mkdir(r.staging, 0o755) })
}

// writeFile writes a file in the directory.
func (r *run) writeFile(name string, content []byte, mode fs.FileMode) error {
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
