package objectdiff

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// Instance identifies an instance whose objects change. Namespace is empty for an
// instance of a cluster-scoped kind. File is the path of its manifest, as
// messages show it. Cluster is the name of the cluster that it was rendered for, if there are
// several.
type Instance struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Cluster   string `json:"cluster,omitempty"`
	File      string `json:"file"`
	// Graph is the name of the graph that the instance is rendered to. It only serves
	// to recognize the name in changes.
	Graph string `json:"-"`
}

// String returns the instance with its file: apps/web.yaml: WebService default/web.
func (in Instance) String() string {
	return in.File + ": " + Key{Kind: in.Kind, Namespace: in.Namespace, Name: in.Name}.String()
}

// maxGroupsOfFamily is the largest number of groups that differ only in values.
// Above it they are one group: a reader compares a few variants, but not dozens.
const maxGroupsOfFamily = 5

// GroupKey identifies the way in which an instance changes, apart from the names of the
// instance.
type GroupKey struct {
	// Fields is equal for instances in which the same fields of the same objects change, and
	// Values for those in which they change to equal values, too.
	Fields, Values [sha256.Size]byte
}

// Key returns the key of an instance with its changes.
func (in Instance) Key(d Diff) GroupKey {
	r := d.Report()
	for i := range r.Objects { // files tell instances apart that change alike
		r.Objects[i].OldFile, r.Objects[i].NewFile = "", ""
	}
	k := GroupKey{Values: in.hash(r)}
	r.dropValues()
	k.Fields = in.hash(r)
	return k
}

// GroupsOf numbers the groups of instances with these keys, from 1. Instances in which the same
// fields change to the same values are a group. If 40 instances get the same new image, they
// are one group. If each gets an image of its own, they are one group, too, which has only the
// fields in common.
func GroupsOf(keys []GroupKey) []int {
	variants := map[[sha256.Size]byte]map[[sha256.Size]byte]bool{}
	for _, k := range keys {
		if variants[k.Fields] == nil {
			variants[k.Fields] = map[[sha256.Size]byte]bool{}
		}
		variants[k.Fields][k.Values] = true
	}
	numbers := map[GroupKey]int{}
	groups := make([]int, len(keys))
	for i, k := range keys {
		if len(variants[k.Fields]) > maxGroupsOfFamily {
			k.Values = [sha256.Size]byte{}
		}
		if numbers[k] == 0 {
			numbers[k] = len(numbers) + 1
		}
		groups[i] = numbers[k]
	}
	return groups
}

// dropValues reduces a report to the objects, fields and rules of warnings.
func (r *Report) dropValues() {
	for i := range r.Objects {
		o := &r.Objects[i]
		o.Object = nil
		for k := range o.Changes {
			o.Changes[k].Old, o.Changes[k].New = nil, nil
		}
		for k := range o.Warnings {
			o.Warnings[k].Message = ""
		}
	}
}

// hash returns a hash of the kind of the instance and of a report in which its names
// are replaced. So it is equal for two instances that change alike apart from their
// names.
func (in Instance) hash(r Report) [sha256.Size]byte {
	data, err := json.Marshal(r)
	if err != nil {
		// JSON cannot represent some values, such as infinity. Files cannot contain
		// them; if one occurs, any text that depends on the value serves as well.
		data = fmt.Append(nil, r)
	}
	text := string(data)
	// A namespace is replaced only where it is certainly one: as a field, in
	// namespace/name and in the DNS name of a Service.
	if ns := in.Namespace; ns != "" {
		text = strings.NewReplacer(`"namespace":"`+ns+`"`, `"namespace":"/"`, ns+"/"+in.Name, "//"+in.Name,
			ns+"/"+in.Graph, "//"+in.Graph, "."+ns+".svc", "./.svc").Replace(text)
	}
	// The name of the graph comes before that of the instance, which it usually contains.
	text = replaceWord(replaceWord(text, in.Graph, "/graph/"), in.Name, "/name/")
	return sha256.Sum256([]byte(in.Kind + text))
}
