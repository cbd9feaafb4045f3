package forecast

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// reading is how the Pods of a workload get a ConfigMap or Secret.
type reading struct {
	workload *objectdiff.Object
	object   objectdiff.Key
	// how is "env", "envFrom", "subPath" or "volume".
	how string
	// key is the only key that is read, or "" for all.
	key string
}

// atStart reports whether Pods read the values only once.
func (r reading) atStart() bool { return r.how != "volume" }

// readingsOf returns what the Pods of a workload read, one for each way.
func readingsOf(w *objectdiff.Object) []reading {
	spec := podSpec(w)
	if spec == nil {
		return nil
	}
	var found []reading
	add := func(kind string, name any, how, key string) {
		if name, _ := name.(string); name != "" {
			found = append(found, reading{w, objectdiff.Key{Kind: kind, Namespace: w.Namespace, Name: name}, how, key})
		}
	}
	volumes := map[string][]source{}
	for _, v := range list(spec["volumes"]) {
		name, _ := v["name"].(string)
		volumes[name] = sourcesOf(v)
	}
	for _, field := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, container := range list(spec[field]) {
			environment(container, add)
			for _, m := range list(container["volumeMounts"]) {
				how := "volume"
				if m["subPath"] != nil || m["subPathExpr"] != nil {
					how = "subPath"
				}
				name, _ := m["name"].(string)
				for _, s := range volumes[name] {
					add(s.kind, s.name, how, "")
				}
			}
		}
	}
	return found
}

// environment adds what the variables of a container read.
func environment(container map[string]any, add func(kind string, name any, how, key string)) {
	of := func(m map[string]any, field string) map[string]any {
		inner, _ := m[field].(map[string]any)
		return inner
	}
	for _, e := range list(container["env"]) {
		from := of(e, "valueFrom")
		for field, kind := range map[string]string{"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"} {
			key, _ := of(from, field)["key"].(string)
			add(kind, of(from, field)["name"], "env", key)
		}
	}
	for _, e := range list(container["envFrom"]) {
		add("ConfigMap", of(e, "configMapRef")["name"], "envFrom", "")
		add("Secret", of(e, "secretRef")["name"], "envFrom", "")
	}
}

// source is an object that a volume shows.
type source struct{ kind, name string }

// sourcesOf returns the ConfigMaps and Secrets of a volume.
func sourcesOf(volume map[string]any) []source {
	projected, _ := volume["projected"].(map[string]any)
	var found []source
	for _, v := range append(list(projected["sources"]), volume) {
		config, _ := v["configMap"].(map[string]any)
		if name, _ := config["name"].(string); name != "" {
			found = append(found, source{"ConfigMap", name})
		}
		secret, _ := v["secret"].(map[string]any)
		for _, field := range []string{"secretName", "name"} { // the latter in projected volumes
			if name, _ := secret[field].(string); name != "" {
				found = append(found, source{"Secret", name})
			}
		}
	}
	return found
}

// affected returns the readings that a change concerns: a variable reads only one key.
// Workloads that are only on one side are left out, because their Pods start with the
// new values.
func (s *subject) affected() []reading {
	if s.diff.Old() == nil {
		return nil
	}
	key := ""
	if len(s.leaf.keys) == 2 { // data.KEY
		key = s.leaf.keys[1]
	}
	return slices.DeleteFunc(slices.Clone(s.sides.before.readings[s.diff.Key]), func(r reading) bool {
		return r.key != "" && key != "" && r.key != key || s.sides.after.all[r.workload.Key] == nil
	})
}

// readAtStart reports whether Pods read the object only when they start, and keep
// running.
func (s *subject) readAtStart() (detail, bool) {
	return s.readers(func(r reading) bool {
		return r.atStart() && r.workload.Kind != "CronJob" && !s.sides.restarts(r.workload)
	})
}

// mounted reports whether Pods mount the object in a way that shows new values.
func (s *subject) mounted() (detail, bool) {
	return s.readers(func(r reading) bool { return !r.atStart() })
}

// readersRestart reports whether Pods read the object when they start, and restart.
func (s *subject) readersRestart() (detail, bool) {
	return s.readers(func(r reading) bool { return r.atStart() && s.sides.restarts(r.workload) })
}

// readers returns the workloads with a reading, with the number of their Pods.
func (s *subject) readers(is func(reading) bool) (detail, bool) {
	var d detail
	var names []string
	counted := map[objectdiff.Key]bool{}
	for _, r := range s.affected() {
		if !is(r) {
			continue
		}
		if name := r.workload.String() + " (" + r.how + ")"; !slices.Contains(names, name) {
			names = append(names, name)
		}
		if !counted[r.workload.Key] {
			counted[r.workload.Key] = true
			n, onNodes := s.sides.before.count(r.workload)
			d.pods, d.allNodes = d.pods+n, d.allNodes || onNodes
		}
	}
	slices.Sort(names)
	d.text = strings.Join(names, ", ")
	return d, len(names) > 0
}
