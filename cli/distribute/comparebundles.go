package distribute

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/text"
)

// compareBundles returns an error if two bundles differ, after it has printed the files
// and the objects that do. Bundles with the same files may have another digest: another
// version of Go compresses them otherwise.
func compareBundles(env command.Env, ref oci.Ref, img, rendered v1.Image) error {
	old, err := bundle.Files(img)
	if err != nil {
		return refused(fmt.Errorf("%s: %w", ref, err))
	}
	now, err := bundle.Files(rendered)
	if err != nil {
		return err
	}
	before, after := byName(old), byName(now)
	var b strings.Builder
	different := 0
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		was, inOld := before[name]
		is, inNow := after[name]
		switch {
		case !inNow:
			fmt.Fprintf(&b, "%s: only in the bundle\n", source.Escape(name, ""))
		case !inOld:
			fmt.Fprintf(&b, "%s: not in the bundle\n", source.Escape(name, ""))
		case !bytes.Equal(was, is):
			fmt.Fprintf(&b, "%s:%d: differs\n", source.Escape(name, ""), firstDifference(was, is))
		default:
			delete(before, name)
			delete(after, name)
			continue
		}
		different++
	}
	if different == 0 {
		if d, err := rendered.Digest(); err != nil || d.String() != ref.Digest {
			fmt.Fprintf(env.Err, "note: the files are equal, and are packed otherwise: the digest is %s now\n", d)
			return err
		}
		return nil
	}
	r, err := review.New(review.Tree{Units: units(before)}, review.Tree{Units: units(after)}, nil)
	if err != nil {
		return err
	}
	if len(r.Instances) > 0 {
		fmt.Fprintln(&b)
	}
	if err := text.WriteChanges(&b, r, style.Painter{Color: style.Colored(env.Out)}.Sign); err != nil {
		return err
	}
	if _, err := fmt.Fprint(env.Out, b.String()); err != nil {
		return command.OutputError(err)
	}
	return refused(fmt.Errorf("%s: %s of the bundle %s from what the instances render to", ref, source.Count(different, "file"), differ(different)))
}

// differ returns the verb for a number of files.
func differ(n int) string {
	if n == 1 {
		return "differs"
	}
	return "differ"
}

// byName returns the contents of files by their names.
func byName(all []bundle.File) map[string][]byte {
	named := map[string][]byte{}
	for _, f := range all {
		named[f.Name] = f.Data
	}
	return named
}

// union returns the files of both.
func union(a, b map[string][]byte) map[string][]byte {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// firstDifference returns the number of the first line that differs.
func firstDifference(a, b []byte) int {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	n := 0
	for n < len(x) && n < len(y) && bytes.Equal(x[n], y[n]) {
		n++
	}
	return n + 1
}

// maxMarks limits the sum of [yamlfile.Marks] of the files of a bundle. config/samples/resourcegraph.yaml has 200.
const maxMarks = 10_000_000

// units returns the graphs and objects of files. Documents that are no valid objects, which
// only bundles of others have, are left out: their files are reported as different. So are files from
// the one on that exceeds [maxMarks].
func units(named map[string][]byte) []review.Unit {
	var all []review.Unit
	marks := 0
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !files.IsYAML(name) || files.IsToolConfig(name) {
			continue
		}
		if marks += yamlfile.Marks(named[name]); marks > maxMarks {
			break
		}
		docs, err := yamlfile.Parse(name, named[name])
		if err != nil {
			continue
		}
		for _, doc := range docs {
			if found, err := input.DocumentUnits(doc, name); err == nil {
				all = append(all, found...)
			}
		}
	}
	return all
}
