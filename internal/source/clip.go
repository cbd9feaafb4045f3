package source

// Clip returns s if it has at most limit characters, and else its first limit
// characters and an ellipsis.
func Clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
