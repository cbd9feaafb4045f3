// Package review has the model of a review: the effects that a change of files has on a
// cluster, in the order in which a reader needs them.
//
// [New] builds a [Report] from two sides, each a [Tree] of rendered instances. The skins
// below this package only print it: text, markdown and html; [WriteJSON] is here. No skin
// computes anything, so that all of them show the same facts.
//
//	tree.go          the two sides that a caller has rendered
//	build.go         pairs the instances of both sides and compares their objects
//	group.go         instances that change alike; title.go names a group in a few words
//	together.go      the consequences of a group over all its instances
//	danger.go        changes that lose data, are refused or restart something
//	output.go        committed output that is stale
//	live.go          refines the forecast by the answers of a cluster
//	verdict.go       the first line; condition.go has the conditions of --fail-on
//	neighbourhood.go the changed nodes of a graph with their neighbours
//	json.go          the published JSON
//
// The package reads no files, renders nothing and knows no cluster and no command line.
// Values of Secrets are masked by package objectdiff before they get here.
package review

import (
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review/forecast"
)

// Report is the effect of a change. It is complete: a skin with a limited size decides
// what to leave out, and names it.
type Report struct {
	Base, Head Side
	// Counts has the number of instances per outcome, and Plan the number of objects.
	Counts Counts
	Plan   objectdiff.Plan
	// Unknown are the parts without an answer, because one side can't be rendered. They
	// are in no other list.
	Unknown []Unknown
	// Dangers are sorted by severity. Equal ones of a group are one entry.
	Dangers []Danger
	// Inputs are the changed modules, policies and settings, sorted by kind and name.
	Inputs []Input
	// Groups are the instances that change alike, the largest group first.
	Groups []Group
	// Instances are those that change, in the order of namespaces, kinds and names.
	Instances []Instance
	// Clusters are the names of the clusters that the instances of either side are rendered for,
	// sorted. Without any, an instance has no cluster. An instance counts once for each of its
	// clusters.
	Clusters []string
	// Stale is set if the head has committed output that isn't what its files render.
	Stale *StaleOutput
	// Live is set if a cluster refined the report.
	Live *Live
	// Link is the address of the whole report. Skins that leave something out name it.
	Link string
}

// Side describes one side of the comparison.
type Side struct {
	// Name is the name for readers, such as "merge base 1a2b3c4 of main".
	Name string `json:"name"`
	// Revision is the full name of the commit, or "" for files on disk.
	Revision string `json:"revision,omitempty"`
	// Output is the directory of committed output that stands for the side. It is empty
	// if the side was rendered.
	Output string `json:"output,omitempty"`
	// Tool is the program that rendered the side, such as "pequod v1.4.0".
	Tool string `json:"tool,omitempty"`
	// AsIs is set if the objects of the side are compared as they are, without rendering.
	AsIs bool `json:"-"`
}

// Counts has the number of instances per outcome. Changed and Unchanged don't include
// those that are added or removed.
type Counts struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Removed   int `json:"removed"`
	Unchanged int `json:"unchanged"`
	Unknown   int `json:"unknown"`
	// Skipped are documents of kinds without a platform, if the comparison leaves them out.
	Skipped int `json:"skipped,omitempty"`
}

// Instance is one instance that changes: an instance of a module, a ResourceGraph, or an
// object in a plain manifest.
type Instance struct {
	objectdiff.Instance
	// Action is Add or Remove if only one side has the instance.
	Action objectdiff.Action
	// At is the position of the instance in the head, or in the base if it is removed.
	At problem.Position
	// Path is the path of the file in the repository.
	Path string
	// Base and Head are the instance on both sides. Either is nil if that side has none.
	Base, Head *Unit
	// Fields are those in which the documents of both sides differ. It is empty for an
	// instance that only one side has, and if something else changes the objects.
	Fields []Field
	// Group is the index in [Report.Groups].
	Group int
	// Before and After are the graphs. Either is nil if that side has none.
	Before, After *v1alpha1.ResourceGraph
	// Objects are the changed objects of the instance, sorted as in objectdiff.Diff.
	Objects []Object
}

// Field is a changed field of an instance's document, or of an object as a module sets it. Its value is nowhere in a report: it
// may be a secret.
type Field struct {
	Path   string
	Action objectdiff.Action
	// At is the place in the head, or in the base for a removed field.
	At Place
}

// Object is a changed object.
type Object struct {
	objectdiff.ObjectDiff
	// Consequences are the effects in the cluster, the most severe first.
	Consequences []forecast.Consequence
	// Node is the id of the node in the graph, or "" for an object without one.
	Node string
	// Module is the place of the node in the module, on the side that has the object.
	Module Place
	// Fields are the changed fields with the places at which the module sets them. Only
	// changed objects of the first instance of a group have them.
	Fields []Field
}

// Place is a position in a file that may be in the repository.
type Place struct {
	problem.Position
	// Path is the path of the file in the repository, or "" if it is elsewhere, such as in
	// the cache of modules.
	Path string
}

// Group is a set of instances with the same changes. The changes of the first one stand
// for all.
type Group struct {
	// Title names the change, such as "image web 1.4.0 → 1.5.0 in 12 instances of WebService".
	Title string
	// Instances are indexes in [Report.Instances]. There is at least one.
	Instances []int
	// ValuesDiffer is set if the same fields change, but to different values.
	ValuesDiffer bool
}

// Unknown is a part without an answer.
type Unknown struct {
	// Subject is the first instance, or the module or file that can't be read.
	Subject string
	// Sides are the sides that can't be rendered.
	Sides Sides
	// Instances are the names of the instances that have no answer for this reason, sorted.
	Instances []string
	// Problems are the reasons, those of the first instance.
	Problems problem.List
}

// Sides is a set of sides.
type Sides string

// The sets of sides.
const (
	Base Sides = "base"
	Head Sides = "head"
	Both Sides = "both"
)

// Danger is an effect that a reader must know before the change is merged.
type Danger struct {
	// Rule is the rule of a warning, such as loss, or the effect of a consequence.
	Rule string
	// Conditions are the conditions of --fail-on that it meets. It may meet none.
	Conditions []Condition
	// Path is the changed field, or "" for the whole object.
	Path    string
	Message string
	// Object is the first object, and Others the number of equal dangers in the other
	// instances of the group.
	Object objectdiff.Key
	Others int
	// Instance is the index of the instance in [Report.Instances], or -1 for committed output.
	Instance int
	// Cluster is that of the instance.
	Cluster string
}

// Input is a changed input of rendering.
type Input struct {
	Kind   InputKind         `json:"kind"`
	Name   string            `json:"name"`
	Action objectdiff.Action `json:"action"`
	// Old and New are versions or digests, shortened for readers.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Notes has a line for each consequence, and Breaking those that break users.
	Notes    []string `json:"notes,omitempty"`
	Breaking []string `json:"breaking,omitempty"`
}

// InputKind is the kind of an [Input].
type InputKind string

// The kinds of inputs, in the order of a report.
const (
	InputTool    InputKind = "tool"    // Pequod itself, or the version that modules require
	InputModule  InputKind = "module"  // a platform's module
	InputPolicy  InputKind = "policy"  // a policy module
	InputLock    InputKind = "lock"    // an entry of pequod.lock
	InputSetting InputKind = "setting" // pequod.yaml
)

// Live tells how far a cluster refined a report.
type Live struct {
	// Context names the cluster for readers: the context of the kubeconfig, or the server.
	Context string `json:"context"`
	// Objects is the number of objects that the cluster had an answer for.
	Objects int `json:"objects"`
	// Error is the reason for which the cluster could not be asked at all, or "".
	Error string `json:"error,omitempty"`
	// NotAsked has a line for each part without an answer, with the reason. The forecast of
	// these parts is that of the files.
	NotAsked []string `json:"notAsked,omitempty"`
	// ReadOnly are the resources that the account may not patch. Their changes were computed
	// without the defaults of the API server, and not validated.
	ReadOnly []string `json:"readOnly,omitempty"`
	// Incomplete is set if the cluster should have had an answer for a part, and had none.
	Incomplete bool `json:"incomplete,omitempty"`
	// Others are objects of the same graphs that the files don't change, and that applying
	// the head changes all the same.
	Others []Object `json:"-"`
}
