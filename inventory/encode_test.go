package inventory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

const golden = `{"format":1,"namespace":"default","graph":"web","revision":"sha256:1","complete":true,"objects":[
{"version":"v1","kind":"ConfigMap","namespace":"default","items":[
{"name":"web","node":"config","uid":"2","desired":"d-2","live":"l-2"}]},
{"version":"v1","kind":"Namespace","items":[
{"name":"web","node":"space","orphan":true}]},
{"group":"apps","version":"v1","kind":"Deployment","namespace":"default","items":[
{"name":"api","node":"api","wave":1,"create":true,"done":true,"uid":"3","desired":"d-3","live":"l-3"},
{"name":"web","node":"<web>","wave":2,"uid":"1","desired":"d-1","live":"l-1"}]}]}
`

func TestEncode(t *testing.T) {
	kept := intent(space, "space", 0)
	kept.Orphan = true
	once := made(Key{"apps", "Deployment", "default", "api"}, "api", 1, "3")
	once.Create, once.Done = true, true
	inv := &Inventory{
		Owner: Owner{"default", "web"}, Revision: "sha256:1", Complete: true,
		Entries: []Entry{made(web, "<web>", 2, "1"), made(config, "config", 0, "2"), kept, once},
	}
	text, err := Encode(inv)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden, string(text)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	Sort(inv.Entries)
	if diff := cmp.Diff(inv, got); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
}

func TestEncodeNothing(t *testing.T) {
	empty := &Inventory{Owner: Owner{"default", "web"}}
	text, err := Encode(empty)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"format":1,"namespace":"default","graph":"web","objects":[]}` + "\n"; string(text) != want {
		t.Errorf("text %q", text)
	}
	got, err := Decode(text)
	if diff := cmp.Diff(empty, got); diff != "" || err != nil {
		t.Errorf("error %v; read again (-want +got):\n%s", err, diff)
	}
}

// What couldn't be read again isn't written.
func TestEncodeRefuses(t *testing.T) {
	owner := Owner{"default", "web"}
	for want, inv := range map[string]*Inventory{
		"namespace or name of the graph is missing": {Owner: Owner{Name: "web"}},
		"Deployment.apps default/web: listed twice": {Owner: owner, Entries: []Entry{intent(web, "a", 0), intent(web, "b", 1)}},
		"Namespace web: wave -1 is negative":        {Owner: owner, Entries: []Entry{intent(space, "a", -1)}},
		`" x": kind or name is missing`:             {Owner: owner, Entries: []Entry{intent(Key{Name: "x"}, "a", 0)}},
	} {
		if _, err := Encode(inv); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestDecodeEdited(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"empty", golden, "", "not an inventory: line 1: unexpected end of JSON input"},
		{"another text", golden, "hello", "not an inventory: line 1: invalid character 'h' looking for beginning of value"},
		{"null", golden, "null", `not an inventory: "format" is missing`},
		{"another object", golden, "{}", `not an inventory: "format" is missing`},
		{"a list", golden, "[]", "not an inventory: line 1: unexpected array"},
		{"newer", `"format":1`, `"format":2,"news":[]`, "format 2: written by a newer pequod, this one reads up to format 1"},
		{"format 0", `"format":1`, `"format":0`, "format 0 does not exist"},
		{"cut", `"live":"l-2"}]},`, "", "not an inventory: line 4: invalid character '{' looking for beginning of object key string"},
		{"appended", "]}]}\n", "]}]}\n{}", "not an inventory: line 9: invalid character '{' after top-level value"},
		{"unknown field", `"node":"config"`, `"id":"config"`, `json: unknown field "id"`},
		{"no objects", `"objects":[`, `"objects":null,"objectz":[`, `json: unknown field "objectz"`},
		{"mistyped wave", `"wave":2`, `"wave":"2"`, "line 8: unexpected string"},
		{"negative wave", `"wave":2`, `"wave":-2`, "Deployment.apps default/web: wave -2 is negative"},
		{"no name", `"name":"api",`, "", `"Deployment.apps default/": kind or name is missing`},
		{"no kind", `"kind":"Namespace",`, "", `" web": kind or name is missing`},
		{"twice", `"name":"api"`, `"name":"web"`, "Deployment.apps default/web: listed twice"},
		{"no graph", `"graph":"web",`, "", "namespace or name of the graph is missing"},
		{"null objects", golden, `{"format":1,"namespace":"default","graph":"web","objects":null}`, `"objects" is missing`},
		{"null items", golden, `{"format":1,"namespace":"default","graph":"web","objects":[{"kind":"X"}]}`, `objects of kind "X": "items" is missing`},
	} {
		text := strings.Replace(golden, test.old, test.new, 1)
		if text == golden {
			t.Fatalf("%s: nothing edited", test.name)
		}
		inv, err := Decode([]byte(text))
		if err == nil || err.Error() != test.want || inv != nil {
			t.Errorf("%s: inventory %v, error %v\nwant %s", test.name, inv, err, test.want)
		}
	}
}

// sized is an inventory as real graphs have them: as many entries, with names
// and ids of usual length.
func sized(count int) *Inventory {
	kinds := []Key{{"", "ServiceAccount", "", ""}, {"", "Service", "", ""}, {"apps", "Deployment", "", ""}, {"networking.k8s.io", "Ingress", "", ""}}
	inv := &Inventory{Owner: Owner{"production", "shop"}, Revision: "sha256:" + Checksum(nil), Complete: true}
	for i := range count {
		k := kinds[i%len(kinds)]
		k.Namespace, k.Name = "production", fmt.Sprintf("shop-service-%04d", i/len(kinds))
		state := []byte(k.String())
		inv.Entries = append(inv.Entries, Entry{
			Key: k, Version: "v1", Node: strings.ToLower(k.Kind) + fmt.Sprint("-", i/len(kinds)), Wave: i % len(kinds),
			UID: types.UID(fmt.Sprintf("9f1c3a52-7c0e-4b6e-8b1d-%012d", i)),
			// Digests of objects have 22 characters; see package fields.
			Desired: Checksum(state)[:22], Live: Checksum(append(state, 1))[:22],
		})
	}
	Sort(inv.Entries)
	return inv
}

func TestEncodedSize(t *testing.T) {
	for count, limit := range map[int]int{400: 80 << 10, 5000: 1000 << 10} {
		text, err := Encode(sized(count))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d entries: %d bytes, %d each", count, len(text), len(text)/count)
		if len(text) > limit {
			t.Errorf("%d entries: over %d bytes", count, limit)
		}
		if got, err := Decode(text); err != nil || !cmp.Equal(sized(count), got) {
			t.Errorf("%d entries: not read as written: %v", count, err)
		}
	}
}

func TestSplit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var text []byte
		for range random.IntN(20) {
			text = append(text, strings.Repeat("aé€😀"[:1+random.IntN(10)], random.IntN(4))+"\n"...)
		}
		if !utf8.Valid(text) {
			continue
		}
		limit := 4 + random.IntN(40)
		parts := Split(text, limit)
		if !bytes.Equal(text, Join(parts)) {
			t.Fatalf("%q, limit %d: joined %q", text, limit, Join(parts))
		}
		for i, part := range parts {
			if len(part) > limit || !utf8.Valid(part) || len(part) == 0 && len(parts) > 1 {
				t.Fatalf("%q, limit %d: part %d is %q", text, limit, i, part)
			}
		}
	}
	got := Split([]byte("one\ntwo\nthree\n"), 9)
	if diff := cmp.Diff([][]byte{[]byte("one\ntwo\n"), []byte("three\n")}, got); diff != "" {
		t.Errorf("not cut between lines (-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(golden)
	f.Add(`{"format":1,"namespace":"a","graph":"b","objects":[{"kind":"X","items":[]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := Decode([]byte(text))
		if err != nil {
			return
		}
		again, err := Encode(inv)
		if err != nil {
			t.Fatalf("read and not written: %v", err)
		}
		got, err := Decode(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if diff := cmp.Diff(inv, got); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
