package objectdiff

import (
	"fmt"
	"strings"
	"testing"
)

// A dry run alters a field only if its result has another value, not another form of it.
func TestAltered(t *testing.T) {
	object := func(container string) []Object {
		return parse(t, []string{fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: app, %s}]}}", container)})
	}
	for name, test := range map[string]struct{ before, after, result, want string }{
		"as it is set":           {"image: a", "image: b", "image: b, imagePullPolicy: Always", ""},
		"another value":          {"image: a", "image: b", "image: mirror/b", "spec.containers[name=app].image: b → mirror/b"},
		"a field that stays":     {"image: a, tty: true", "image: b, tty: true", "image: b, tty: false", ""},
		"a canonical quantity":   {"resources: {limits: {cpu: 1}}", "resources: {limits: {cpu: 2000m}}", `resources: {limits: {cpu: "2"}}`, ""},
		"another quantity":       {"resources: {limits: {cpu: 1}}", "resources: {limits: {cpu: 2}}", `resources: {limits: {cpu: "1"}}`, "spec.containers[name=app].resources.limits.cpu: 2 → 1"},
		"a part of a new field":  {"image: a", "image: a, securityContext: {privileged: true, runAsUser: 1}", "image: a, securityContext: {privileged: false, runAsUser: 1}", "spec.containers[name=app].securityContext.privileged: true → false"},
		"a field of that prefix": {"image: a, tty: true", "image: a, tty: false, ttyx: 1", "image: a, tty: false, ttyx: 2", "spec.containers[name=app].ttyx: 1 → 2"},
	} {
		d := Compare(object(test.before), object(test.after))
		var got []string
		for _, c := range d.Objects[0].Altered(&object(test.result)[0]) {
			before, after := c.Inline()
			got = append(got, c.Path.String()+": "+before+" → "+after)
		}
		if text := strings.NewReplacer(`"`, "").Replace(strings.Join(got, "; ")); text != test.want {
			t.Errorf("%s: got %q, want %q", name, text, test.want)
		}
	}
	secrets := func(value string) []Object {
		return parse(t, []string{fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: shop}, data: {k: %s}}", value)})
	}
	d := Compare(secrets("YQ=="), secrets("Yg=="))
	altered := d.Objects[0].Altered(&secrets("Yw==")[0])
	if len(altered) == 0 {
		t.Fatal("an altered secret is not found")
	}
	before, after := altered[0].Inline()
	if text := before + after; !strings.Contains(text, mask) || strings.Contains(text, "Y") {
		t.Errorf("a secret is printed: %s", text)
	}
}
