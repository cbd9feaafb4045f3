package forecast

import "github.com/pequod-io/pequod/applier/objectdiff"

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
