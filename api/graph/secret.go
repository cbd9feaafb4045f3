package graph

import "slices"

// LiteralSecretKeys lists the entries of a Secret's data and stringData whose
// values are written out, such as stringData.password, sorted. Values that are
// made or read in the cluster don't count. For any other object it is empty.
func LiteralSecretKeys(object map[string]any) []string {
	if object["apiVersion"] != "v1" || object["kind"] != "Secret" {
		return nil
	}
	var keys []string
	for _, field := range []string{"data", "stringData"} {
		if isLate(object[field]) {
			continue
		}
		m, ok := object[field].(map[string]any)
		if !ok {
			if object[field] != nil {
				keys = append(keys, field)
			}
			continue
		}
		for key, value := range m {
			if !isLate(value) && value != nil {
				keys = append(keys, field+"."+key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}
