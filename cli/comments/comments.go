// Package comments keeps one comment of a given name on a pull request up to date.
//
// [Keep] is the entry point. It creates the comment when there is something to say,
// updates it later, and hides it when nothing changes any more. [Target] finds the pull
// request in the environment of a CI job and returns its [Host], GitHub or GitLab.
//
// A hidden marker at the beginning of the text makes a comment Pequod's. Everybody can
// write such a marker, so only comments of the token's own account count.
//
// The package renders no reports. [Plain] makes text from strangers harmless.
package comments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// Comment is a comment of the token's account.
type Comment struct {
	// ID identifies the comment in requests. Node is the ID that GitHub's GraphQL uses.
	ID   int64
	Node string
	Body string
	URL  string
}

// Host has the comments of one pull request.
type Host interface {
	// Own returns the comments of the token's account, oldest first.
	Own(ctx context.Context) ([]Comment, error)
	Create(ctx context.Context, body string) error
	// Update and Delete return ErrGone if there is no such comment any more.
	Update(ctx context.Context, c Comment, body string) error
	Delete(ctx context.Context, c Comment) error
	// Hide folds a comment up, or shows it again, where the host can do that.
	Hide(ctx context.Context, c Comment, hidden bool) error
	// Limit is the greatest length of a comment in UTF-16 units.
	Limit() int
	// Literal returns Markdown in which no line is a command to the host.
	Literal(markdown string) string
}

// ErrGone means that a person has deleted the comment meanwhile.
var ErrGone = errors.New("the comment is gone")

// errUncertain means that a comment may have been created although the request failed.
var errUncertain = errors.New("the answer is missing")

// Post is the wanted state of a comment.
type Post struct {
	// Name distinguishes the comments of several jobs on one pull request.
	Name string
	// Body is Markdown. If it is empty, nothing is posted, and a comment of an earlier
	// run is replaced by Nothing and hidden.
	Body, Nothing string
	// Run orders the runs of a job: a run leaves the comment of a later one alone. 0
	// means that the order is unknown.
	Run int64
}

// Result is the outcome of [Keep].
type Result string

// The results of [Keep].
const (
	Created   Result = "created"
	Updated   Result = "updated"
	Unchanged Result = "unchanged"
	Hidden    Result = "hidden"
	// Nothing means that there was no comment and none is needed.
	Nothing Result = "nothing"
	// Newer means that a later run has written the comment already.
	Newer Result = "newer"
)

// name is the form of the name of a comment. It can't end the marker.
var name = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CheckName returns an error if a name can't be that of a comment.
func CheckName(s string) error {
	if !name().MatchString(s) {
		return fmt.Errorf("name %q: want up to 100 letters, digits, dots, dashes and underscores", s)
	}
	return nil
}

// marker returns the first line of a comment.
func (p Post) marker() string {
	state := ""
	if p.Body == "" {
		state = " hidden"
	}
	return fmt.Sprintf("<!-- pequod:comment %s run=%d%s -->\n", p.Name, p.Run, state)
}

var markerForm = lazyregexp.New(`^<!-- pequod:comment ([A-Za-z0-9._-]+) run=(\d{1,18})( hidden)? -->\r?\n`)

// written returns what a marker tells of a comment. ok is false for a comment that has
// none, or that of another name.
func (p Post) written(body string) (run int64, text string, hidden, ok bool) {
	m := markerForm().FindStringSubmatch(body)
	if m == nil || m[1] != p.Name {
		return 0, "", false, false
	}
	run, err := strconv.ParseInt(m[2], 10, 64)
	return run, strings.TrimSpace(strings.ReplaceAll(body[len(m[0]):], "\r\n", "\n")), m[3] != "", err == nil
}
