package markdown

import (
	"sort"
	"unicode/utf8"
)

// cut limits the length of a comment. Its fields are not negative.
type cut struct {
	lines  int // per object
	groups int // with details
	names  int // per list
}

// unlimited is a limit that no report reaches.
const unlimited = 1 << 30

// enough is the number of lines of an object below which leaving out whole groups is better.
const enough = 5

// fit returns the text that write returns with the largest limits under which it has at most
// size characters. It reduces the lines of each object first, then the groups with
// details, and then the names in lists. A size of 0 or less means no limit.
//
// The length must not shrink as the limits grow, because the limits are found by binary
// search. write is called up to 17 times for each limit.
func fit(size int, write func(cut) string) string {
	fits := func(s string) bool { return size <= 0 || utf8.RuneCountInString(s) <= size }
	for _, at := range []func(n int) cut{
		func(int) cut { return cut{unlimited, unlimited, unlimited} },
		func(n int) cut { return cut{n + enough, unlimited, unlimited} },
		func(n int) cut { return cut{enough, n, unlimited} },
		func(n int) cut { return cut{enough, 0, n} },
	} {
		if text := write(at(0)); !fits(text) {
			continue
		}
		n := sort.Search(1<<16, func(n int) bool { return !fits(write(at(n))) })
		return write(at(n - 1))
	}
	// Even the first lines are too long; names of a few hundred characters each can do that.
	const note = "\n\n_Too long for a comment._\n"
	text := []rune(write(cut{}))
	return string(text[:max(0, size-len(note))]) + note
}
