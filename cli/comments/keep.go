package comments

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// rounds is how often Keep looks again after others changed the comments meanwhile.
const rounds = 5

// Keep makes the comment of a pull request that of p.
//
// Neither host has a transaction, so every change is followed by another look. Two runs
// that both create a comment find two of them then, and both keep the older one. A
// comment that a person deletes meanwhile is created again. If the answer to a creation
// is lost, the next look finds the comment or not.
func Keep(ctx context.Context, host Host, p Post) (Result, error) {
	if err := CheckName(p.Name); err != nil {
		return "", err
	}
	p.Body, p.Nothing = strings.TrimSpace(p.Body), strings.TrimSpace(p.Nothing)
	text := p.marker() + host.Literal(p.text())
	if n := length(text); n > host.Limit() {
		return "", fmt.Errorf("the comment has %d characters, and the host takes %d: make it shorter with --max-size", n, host.Limit())
	}
	result := Nothing
	for range rounds {
		own, err := p.find(ctx, host)
		if err != nil {
			return "", err
		}
		switch {
		case len(own) == 0 && p.Body == "":
			return result, nil
		case len(own) == 0:
			err := host.Create(ctx, text)
			if err != nil && !errors.Is(err, errUncertain) {
				return "", err
			}
			result = Created
			continue
		}
		done, err := p.keepFirst(ctx, host, own, text)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil || done == Unchanged && result == Created {
			return result, err
		}
		return done, nil
	}
	return "", errors.New("the comment disappears again and again")
}

// text is the text below the marker.
func (p Post) text() string {
	if p.Body == "" {
		return p.Nothing
	}
	return p.Body
}

// find returns the comments with the name of p, oldest first.
func (p Post) find(ctx context.Context, host Host) ([]Comment, error) {
	all, err := host.Own(ctx)
	if err != nil {
		return nil, err
	}
	var own []Comment
	for _, c := range all {
		if _, _, _, ok := p.written(c.Body); ok {
			own = append(own, c)
		}
	}
	return own, nil
}

// keepFirst writes the oldest comment and deletes the others.
func (p Post) keepFirst(ctx context.Context, host Host, own []Comment, text string) (Result, error) {
	first := own[0]
	newest := int64(0)
	for i, c := range own {
		run, _, _, _ := p.written(c.Body)
		newest = max(newest, run)
		// A later run looks at the comments itself after it has created its own.
		if i == 0 || p.Run > 0 && run > p.Run {
			continue
		}
		if err := host.Delete(ctx, c); err != nil && !errors.Is(err, ErrGone) {
			return "", err
		}
	}
	if p.Run > 0 && newest > p.Run {
		return Newer, nil
	}
	_, before, hidden, _ := p.written(first.Body)
	_, after, hide, _ := p.written(text)
	if before == after && hidden == hide {
		return Unchanged, nil
	}
	if err := host.Update(ctx, first, text); err != nil {
		return "", err
	}
	if hidden != hide {
		if err := host.Hide(ctx, first, hide); err != nil {
			return "", err
		}
	}
	if hide {
		return Hidden, nil
	}
	return Updated, nil
}

// length is that of a text as JavaScript counts it, which is never less than its
// number of characters.
func length(s string) int { return len(utf16.Encode([]rune(s))) }
