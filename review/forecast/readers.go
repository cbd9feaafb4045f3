package forecast

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// reading is how the Pods of a workload get a ConfigMap or Secret.
type reading struct {
	workload *objectdiff.Object
	// how is "env", "envFrom", "subPath" or "volume".
	how string
	// key is the only key that is read, or "" for all.
	key string
}

// atStart reports whether Pods read the values only once.
func (r reading) atStart() bool { return r.how != "volume" }

// readings returns the workloads of a side that read an object, one for each way.
func (t tree) readings(k objectdiff.Key) []reading {
	var found []reading
	for _, w := range t.namespaces[k.Namespace] {
		spec := podSpec(w)
		if spec == nil {
			continue
		}
		mounts := volumesOf(spec, k)
		for _, field := range []string{"initContainers", "containers", "ephemeralContainers"} {
			for _, container := range list(spec[field]) {
				found = append(found, environment(w, container, k)...)
				for _, m := range list(container["volumeMounts"]) {
					name, _ := m["name"].(string)
					if !slices.Contains(mounts, name) {
						continue
					}
					r := reading{workload: w, how: "volume"}
					if m["subPath"] != nil || m["subPathExpr"] != nil {
						r.how = "subPath"
					}
					found = append(found, r)
				}
			}
		}
	}
	return found
}

// environment returns how the variables of a container read an object.
func environment(w *objectdiff.Object, container map[string]any, k objectdiff.Key) []reading {
	ref, all := "configMapKeyRef", "configMapRef"
	if k.Kind == "Secret" {
		ref, all = "secretKeyRef", "secretRef"
	}
	var found []reading
	for _, e := range list(container["env"]) {
		from, _ := e["valueFrom"].(map[string]any)
		if source, _ := from[ref].(map[string]any); source != nil && source["name"] == k.Name {
			key, _ := source["key"].(string)
			found = append(found, reading{workload: w, how: "env", key: key})
		}
	}
	for _, e := range list(container["envFrom"]) {
		if source, _ := e[all].(map[string]any); source != nil && source["name"] == k.Name {
			found = append(found, reading{workload: w, how: "envFrom"})
		}
	}
	return found
}

// volumesOf returns the names of the volumes of a Pod that show an object.
func volumesOf(spec map[string]any, k objectdiff.Key) []string {
	shows := func(source map[string]any) bool {
		if k.Kind == "Secret" {
			secret, _ := source["secret"].(map[string]any)
			return secret["secretName"] == k.Name || secret["name"] == k.Name // the latter in projected volumes
		}
		config, _ := source["configMap"].(map[string]any)
		return config["name"] == k.Name
	}
	var names []string
	for _, v := range list(spec["volumes"]) {
		projected, _ := v["projected"].(map[string]any)
		if name, _ := v["name"].(string); shows(v) || slices.ContainsFunc(list(projected["sources"]), shows) {
			names = append(names, name)
		}
	}
	return names
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
	return slices.DeleteFunc(s.sides.before.readings(s.diff.Key), func(r reading) bool {
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
