package kinds

import "github.com/pequod-io/pequod/api/reference"

// Problem is one thing that is wrong with an object.
type Problem struct {
	// Path leads from the object to the value.
	Path    reference.Path
	Message string
	// Hint says how to mend it, where that is known.
	Hint  string
	Level Level
}

// Level says how bad a problem is.
type Level int

// The levels.
const (
	Error   Level = iota // the API server refuses it, or drops the field
	Warning              // probably not what was meant
	Note                 // could not be checked
)
