package kinds

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// builtinText is the table as render/kinds/gen wrote it.
//
//go:embed builtin.txt
var builtinText string

// builtin is the table of the built-in kinds of one release of Kubernetes.
type builtin struct {
	release string // such as 1.37
	kinds   map[schema.GroupVersionKind]builtinKind
	// versions are the versions of a kind that the release serves, the
	// preferred first.
	versions map[schema.GroupKind][]string
	// groups are the API groups that have any kind, served or removed.
	groups map[string]bool
	types  map[string]*Type // by name
}

// builtinKind is one version of a built-in kind, served or removed.
type builtinKind struct {
	typ *Type // nil if the version was removed
	// removed is the first release without the version, such as 1.22, or "".
	removed string
	// replacement is the kind to use now, such as "apps/v1 Deployment", or "".
	replacement string
}

// table parses the embedded table. Its lines are one of
//
//	kind APIVERSION KIND TYPE
//	kind APIVERSION KIND removed=RELEASE=APIVERSION,KIND
//	enum NAME VALUE ...
//	type NAME FIELD:TYPE ...
//
// A ! behind a field means that it is required. A TYPE is a value of Type.kind
// such as int32, the name of a struct, =NAME for an enumeration, []TYPE for a
// list, or {}TYPE for a map with string keys. For example:
//
//	kind v1 ConfigMap core/v1.ConfigMap
//	type core/v1.ConfigMap apiVersion:string binaryData:{}bytes data:{}string ...
//
// The order of the lines does not matter, because a type may be named before its
// own line. Words are not checked: a test compares the table with its generator.
var table = sync.OnceValue(func() *builtin {
	b := &builtin{
		kinds: map[schema.GroupVersionKind]builtinKind{}, versions: map[schema.GroupKind][]string{},
		groups: map[string]bool{}, types: map[string]*Type{},
	}
	for line := range strings.Lines(builtinText) {
		words := strings.Fields(line)
		switch words[0] {
		// The header names the release in its fourth word from the end: 1.37.
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

// addKind adds a line about a kind. typ is its third word: a type, or the release
// that removed it.
func (b *builtin) addKind(apiVersion, kind, typ string) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		panic(err) // the table is part of the program
	}
	b.groups[gv.Group] = true
	var k builtinKind
	if rest, ok := strings.CutPrefix(typ, "removed="); ok {
		k.removed, k.replacement, _ = strings.Cut(rest, "=")
		k.replacement = strings.ReplaceAll(k.replacement, ",", " ")
	} else {
		k.typ = b.named(typ)
		gk := schema.GroupKind{Group: gv.Group, Kind: kind}
		b.versions[gk] = append(b.versions[gk], gv.Version)
		slices.SortFunc(b.versions[gk], byPriority)
	}
	b.kinds[gv.WithKind(kind)] = k
}

// named returns the type with a name and creates it on first use. The fields of a
// struct are filled in when its line is parsed. Names are shared, so a recursive
// struct refers to itself.
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

// byPriority compares versions of an API such that the preferred comes first:
// v2, v1, v1beta1.
func byPriority(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) }
