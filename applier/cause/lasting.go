package cause

import "strings"

// Phrases of causes that time doesn't cure.
const (
	noImage    = " can't be pulled"
	crashLoop  = " is in a crash loop"
	startAgain = " was started again: it "
)

// Lasting reports whether a line of [Find], or a message that contains one, is about something that
// doesn't become ready by waiting: an image that can't be pulled, or a container that crashes
// again and again.
func Lasting(message string) bool {
	for _, phrase := range []string{noImage, crashLoop, startAgain} {
		if strings.Contains(message, phrase) {
			return true
		}
	}
	return false
}
