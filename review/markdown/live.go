package markdown

import (
	"fmt"

	"github.com/pequod-io/pequod/review"
)

// live writes how far a cluster refined the forecast.
func (b *writer) live(l *review.Live) {
	if l == nil {
		return
	}
	fmt.Fprintf(b, "\nlive: %s\n", escape(l.String()))
	if len(l.Notes()) > 0 {
		b.WriteByte('\n')
	}
	for i, note := range l.Notes() {
		if i >= b.cut.names {
			b.names += len(l.Notes()) - i
			fmt.Fprintf(b, "- … %d more\n", len(l.Notes())-i)
			return
		}
		fmt.Fprintf(b, "- %s\n", escape(note))
	}
}

// others writes the objects that only a cluster knows to change.
func (b *writer) others(l *review.Live) {
	if l == nil || len(l.Others) == 0 {
		return
	}
	fmt.Fprintf(b, "\n#### %s\n\n", escape(l.OthersTitle()))
	for i := range l.Others {
		o := &l.Others[i]
		if i >= b.cut.names {
			b.names += len(l.Others) - i
			fmt.Fprintf(b, "… %d more\n", len(l.Others)-i)
			return
		}
		b.object(o, o.Alone())
		for _, w := range o.Warnings {
			fmt.Fprintf(b, "- %s\n", escape(review.WarningText(w)))
		}
		if len(o.Warnings) > 0 {
			b.WriteByte('\n')
		}
	}
}
