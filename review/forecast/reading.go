package forecast

import (
	"slices"

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
	// optional is set if Pods also start without the object.
	optional bool
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
	add := func(kind string, reference map[string]any, name, how, key string) {
		if name, _ := reference[name].(string); name != "" {
			found = append(found, reading{w, objectdiff.Key{Kind: kind, Namespace: w.Namespace, Name: name, Cluster: w.Cluster}, how, key, reference["optional"] == true})
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
					add(s.kind, s.reference, s.field, how, "")
				}
			}
		}
	}
	return found
}

// environment adds what the variables of a container read.
func environment(container map[string]any, add func(kind string, reference map[string]any, name, how, key string)) {
	of := func(m map[string]any, field string) map[string]any {
		inner, _ := m[field].(map[string]any)
		return inner
	}
	for _, e := range list(container["env"]) {
		from := of(e, "valueFrom")
		for field, kind := range map[string]string{"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"} {
			key, _ := of(from, field)["key"].(string)
			add(kind, of(from, field), "name", "env", key)
		}
	}
	for _, e := range list(container["envFrom"]) {
		add("ConfigMap", of(e, "configMapRef"), "name", "envFrom", "")
		add("Secret", of(e, "secretRef"), "name", "envFrom", "")
	}
}

// source is an object that a volume shows. The field of the reference has its name.
type source struct {
	kind      string
	reference map[string]any
	field     string
}

// sourcesOf returns the ConfigMaps and Secrets of a volume.
func sourcesOf(volume map[string]any) []source {
	projected, _ := volume["projected"].(map[string]any)
	var found []source
	for _, v := range append(list(projected["sources"]), volume) {
		config, _ := v["configMap"].(map[string]any)
		secret, _ := v["secret"].(map[string]any)
		// A Secret has its name in the latter field in projected volumes.
		found = append(found, source{"ConfigMap", config, "name"}, source{"Secret", secret, "secretName"}, source{"Secret", secret, "name"})
	}
	return found
}

// needsOf returns the objects without which the Pods of a workload can't start: what they read,
// unless it is optional, their claims, and their account.
func needsOf(w *objectdiff.Object) []reading {
	found := slices.DeleteFunc(readingsOf(w), func(r reading) bool { return r.optional })
	spec := podSpec(w)
	add := func(kind string, name any, how string) {
		if name, _ := name.(string); name != "" {
			found = append(found, reading{workload: w, object: objectdiff.Key{Kind: kind, Namespace: w.Namespace, Name: name, Cluster: w.Cluster}, how: how})
		}
	}
	for _, v := range list(spec["volumes"]) {
		claim, _ := v["persistentVolumeClaim"].(map[string]any)
		add("PersistentVolumeClaim", claim["claimName"], "volume")
	}
	add("ServiceAccount", spec["serviceAccountName"], "account")
	return found
}
