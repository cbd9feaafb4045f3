package reference

import "strings"

// maxPlain is the maximum number of names of a plain path, far below the limits of
// CEL's parser.
const maxPlain = 20

// plain returns the expression of a path of fields of a node, such as
// service.spec.clusterIP, or nil for other expressions and for those with mistakes. The
// expression is the one that a compilation would return: fields of nodes have the type
// dyn, so there is nothing to check. Most late references are plain paths. A graph that
// has no others is read without CEL, whose environment and parser take 8 % of the CPU
// time of rendering one instance.
func (s *NodeSet) plain(expr string) *Expression {
	names := strings.SplitN(expr, ".", maxPlain+1)
	if len(names) < 2 || len(names) > maxPlain || checkSource(expr) != nil || !s.known[names[0]] || !Bare(names[0]) {
		return nil
	}
	path := make(Path, len(names))
	for i, name := range names {
		if !identifier().MatchString(name) {
			return nil
		}
		switch name {
		case "false", "in", "null", "true": // not even the name of a field
			return nil
		}
		path[i] = name
	}
	return &Expression{
		source: expr, scope: s, nodes: names[:1:1], selects: []Path{path},
		cost: checkCost(count{nodes: len(names)}, 0),
	}
}
