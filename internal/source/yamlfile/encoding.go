package yamlfile

import (
	"bytes"
	"unicode/utf8"

	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// checkEncoding returns a problem for the first byte or character that YAML does
// not allow, or nil. YAML also allows UTF-16, which kubectl does not read. The
// characters are those of section 5.1 of the YAML specification.
func (f *file) checkEncoding() problem.List {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(f.data, []byte(mark)) {
			return f.problem(f.pos(1, 1), "save the file as UTF-8", "UTF-16, not UTF-8")
		}
	}
	chars := 0
	for i := 0; i < len(f.data); chars++ {
		r, size := utf8.DecodeRune(f.data[i:])
		switch {
		case r == '\ufeff' && i == 0:
			return f.problem(f.pos(1, 1), "", "two byte order marks") // newFile removed the first
		case r == utf8.RuneError && size == 1:
			return f.problem(f.charPos(chars), "save the file as UTF-8", "not UTF-8")
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			return f.problem(f.charPos(chars), "", "character %U is not allowed", r)
		}
		i += size
	}
	return nil
}

// loneCarriageReturn returns the position of the first carriage return without
// a line feed. YAML ends a line there, kubectl does not.
func (f *file) loneCarriageReturn() (token.Pos, bool) {
	i := 0
	for {
		next := bytes.IndexByte(f.data[i:], '\r')
		if next < 0 {
			return token.Pos{}, false
		}
		if i += next + 1; f.data[i] != '\n' { // in range, because data ends with a line feed
			return f.charPos(utf8.RuneCount(f.data[:i-1])), true
		}
	}
}

// InvalidUTF8 returns the position of the first byte that is not UTF-8. It
// works for any text file; the CUE scanner, for one, lets such bytes pass.
func InvalidUTF8(name string, data []byte) (problem.Position, bool) {
	if utf8.Valid(data) {
		return problem.Position{}, false
	}
	f := newFile(name, data)
	chars := 0
	for i := 0; ; chars++ {
		r, size := utf8.DecodeRune(f.data[i:])
		if r == utf8.RuneError && size == 1 {
			return cuesyntax.Position(f.charPos(chars)), true
		}
		i += size
	}
}
