package html

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review"
)

// fileLink is a position in a file, with its address if there is one.
type fileLink struct {
	Text string // such as apps/web.yaml:3
	Href string
}

// fileLink returns a position for the page, with the address of path, which is that of the
// file in the repository, or "" for files elsewhere. A position without a file yields the
// zero value.
func (o Options) fileLink(at problem.Position, path string) fileLink {
	if at.File == "" {
		return fileLink{}
	}
	text := at.File
	if at.Line > 0 {
		text += ":" + strconv.Itoa(at.Line)
	}
	p := fileLink{Text: shown(text)}
	if path != "" && (strings.HasPrefix(o.Source, "https://") || strings.HasPrefix(o.Source, "http://")) {
		segments := strings.Split(path, "/")
		for i, s := range segments {
			segments[i] = url.PathEscape(s)
		}
		p.Href = strings.NewReplacer("{file}", strings.Join(segments, "/"), "{line}", strconv.Itoa(max(1, at.Line))).Replace(o.Source)
	}
	return p
}

// fields returns changed fields with their lines. One that is removed has no line to open.
func (o Options) fields(all []review.Field) []fileLink {
	var places []fileLink
	for _, f := range all {
		p := o.fileLink(f.At.Position, f.At.Path)
		p.Text = shown(f.Path + ":" + strconv.Itoa(f.At.Line) + f.Suffix())
		places = append(places, p)
	}
	return places
}

// set returns where a module sets the changed fields of an object, without those that have no
// line but that of the node.
func (o Options) set(object *review.Object) []fileLink {
	var places []fileLink
	for _, f := range object.Fields {
		if f.At == object.Module {
			continue
		}
		path := f.At.Path
		if f.Action == objectdiff.Remove {
			path = "" // the line is one of the base
		}
		p := o.fileLink(f.At.Position, path)
		p.Text = shown(f.Path) + " at " + p.Text
		places = append(places, p)
	}
	return places
}
