package kinds

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed builtin.txt
var builtinText string

// builtin is the table of the kinds that Kubernetes has.
type builtin struct {
	release string // such as 1.37
	kinds   map[schema.GroupVersionKind]builtinKind
	// versions are those of a kind that are still there, the preferred first.
	versions map[schema.GroupKind][]string
	groups   map[string]bool
	types    map[string]*Type
}

type builtinKind struct {
	typ *Type
	// removed is the release without the kind, and instead what to use now.
	removed, instead string
}

// table reads the embedded table: lines of "kind APIVERSION KIND TYPE" or, for
// what is gone, "kind APIVERSION KIND removed=RELEASE=APIVERSION,KIND"; of "enum
// NAME VALUE ..."; and of "type NAME FIELD:TYPE ...", with a ! behind fields that
// must be given.
var table = sync.OnceValue(func() *builtin {
	b := &builtin{
		kinds: map[schema.GroupVersionKind]builtinKind{}, versions: map[schema.GroupKind][]string{},
		groups: map[string]bool{}, types: map[string]*Type{},
	}
	for line := range strings.Lines(builtinText) {
		words := strings.Fields(line)
		switch words[0] {
		case "#":
			b.release = strings.TrimSuffix(words[len(words)-4], ".")
		case "kind":
			b.addKind(words[1], words[2], words[3])
		case "enum":
			b.named("=" + words[1]).enum = words[2:]
		case "type":
			t := b.named(words[1])
			t.fields = map[string]*Type{}
			for _, field := range words[2:] {
				name, typ, _ := strings.Cut(field, ":")
				name, required := strings.CutSuffix(name, "!")
				if required {
					t.required = append(t.required, name)
				}
				t.fields[name] = b.named(typ)
			}
		}
	}
	return b
})

func (b *builtin) addKind(apiVersion, kind, typ string) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		panic(err) // the table is part of the program
	}
	b.groups[gv.Group] = true
	var k builtinKind
	if rest, ok := strings.CutPrefix(typ, "removed="); ok {
		k.removed, k.instead, _ = strings.Cut(rest, "=")
		k.instead = strings.ReplaceAll(k.instead, ",", " ")
	} else {
		k.typ = b.named(typ)
		gk := schema.GroupKind{Group: gv.Group, Kind: kind}
		b.versions[gk] = append(b.versions[gk], gv.Version)
		slices.SortFunc(b.versions[gk], byPriority)
	}
	b.kinds[gv.WithKind(kind)] = k
}

// named gives the type of a name. A struct's fields are filled in at its line.
func (b *builtin) named(name string) *Type {
	if t := b.types[name]; t != nil {
		return t
	}
	t := &Type{kind: name}
	b.types[name] = t
	switch {
	case strings.HasPrefix(name, "[]"):
		t.kind, t.elem = kindList, b.named(name[2:])
	case strings.HasPrefix(name, "{}"):
		t.kind, t.elem = kindMap, b.named(name[2:])
	case strings.HasPrefix(name, "="):
		t.kind = kindString
	case strings.Contains(name, "/"):
		t.kind = kindStruct
	}
	return t
}
