package report

import (
	"bufio"
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/problem"
)

// The types are the part of SARIF 2.1.0 that pequod writes:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID     string            `json:"ruleId"`
		RuleIndex  int               `json:"ruleIndex"`
		Level      string            `json:"level"`
		Message    sarifText         `json:"message"`
		Locations  []sarifLocation   `json:"locations,omitempty"`
		Properties map[string]string `json:"properties,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysical  `json:"physicalLocation"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// unnamedRule is the rule of problems that have none: SARIF requires a rule.
const unnamedRule = "invalid"

// writeSARIF prints a log with one run. Its rules are those that the entries
// name, sorted. The instance of a result, which SARIF has no field for, is among
// its properties. A problem without a file has no location.
func writeSARIF(w *bufio.Writer, entries []entry, version string) error {
	rules := ruleIDs(entries)
	run := sarifRun{
		Tool: sarifTool{Driver: sarifDriver{
			Name: "pequod", Version: version,
			InformationURI: "https://github.com/pequod-io/pequod",
			Rules:          []sarifRule{},
		}},
		Results: []sarifResult{},
	}
	for _, id := range rules {
		// Other rules, such as those of crd check, are described by their names.
		text := sarifText{cmp.Or(descriptions[id], id)}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: id, ShortDescription: text})
	}
	for _, e := range entries {
		id := cmp.Or(e.Rule, unnamedRule)
		// The index is always found, since rules has the rules of all entries.
		index, _ := slices.BinarySearch(rules, id)
		result := sarifResult{
			RuleID: id, RuleIndex: index, Level: e.Severity.String(),
			Message: sarifText{sentence(e)},
		}
		if e.Position.File != "" {
			result.Locations = []sarifLocation{location(e)}
		}
		if e.Instance != "" {
			result.Properties = map[string]string{"instance": e.Instance}
		}
		run.Results = append(run.Results, result)
	}
	return jsonvalue.Write(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// ruleIDs returns the rules of the entries, sorted and without duplicates.
// Results refer to them by index.
func ruleIDs(entries []entry) []string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, cmp.Or(e.Rule, unnamedRule))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// location returns where the problem is. GitHub's code scanning rejects
// locations without a line, so a problem of a whole file is shown at line 1.
func location(e entry) sarifLocation {
	// Lines and columns count from 1, as in package problem.
	l := sarifLocation{PhysicalLocation: sarifPhysical{
		ArtifactLocation: artifact(e.Position.File),
		Region:           sarifRegion{StartLine: max(e.Position.Line, 1)},
	}}
	if e.Position.Line > 0 {
		l.PhysicalLocation.Region.StartColumn = max(e.Position.Column, 0)
	}
	if e.Path != "" {
		l.LogicalLocations = []sarifLogical{{FullyQualifiedName: e.Path, Kind: "member"}}
	}
	return l
}

// artifact returns the URI of a file. A relative name is relative to the root of
// the sources (%SRCROOT%), which is that of the git repository. An absolute
// name, with or without a Windows drive, becomes a file URI.
func artifact(file string) sarifArtifact {
	drive := len(file) > 2 && file[1] == ':' && file[2] == '/'
	switch {
	case drive:
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: "/" + file}).String()}
	case strings.HasPrefix(file, "/"):
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: file}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: path.Clean(file)}).String(), URIBaseID: "%SRCROOT%"}
}

// descriptions has a sentence for each rule of package problem, for the list of rules
// that viewers show.
var descriptions = map[string]string{
	problem.RuleYAML:       "The file isn't YAML, or isn't the same to every reader.",
	problem.RuleInstance:   "The apiVersion, kind or metadata of an instance is wrong.",
	problem.RulePlatform:   "No platform, or more than one, has the instance's kind.",
	problem.RuleUnknown:    "A field isn't part of the schema.",
	problem.RuleRequired:   "A required field is missing.",
	problem.RuleType:       "A value has the wrong type.",
	problem.RuleEnum:       "A value is none of those allowed.",
	problem.RuleConstraint: "A value is out of bounds or doesn't match what the schema wants.",
	problem.RulePolicy:     "A policy was violated.",
	problem.RuleModule:     "The platform's module is broken.",
	problem.RuleTransform:  "A field of a Transform is wrong or not supported.",
	problem.RuleDigest:     "A module doesn't have the pinned digest.",
	problem.RuleLock:       "A module is not the one that pequod.lock names.",
	problem.RuleAllowed:    "A module is not in allow-modules.",
	problem.RuleSignature:  "A module is not signed as a rule demands.",
	problem.RuleGraph:      "The rendered graph is broken.",
	problem.RuleSecret:     "A secret value is in clear text.",
	problem.RuleSize:       "The rendered graph is too large.",
	problem.RuleDuplicate:  "Two instances stand for one object.",
	problem.RuleReserved:   "An instance uses what belongs to modules.",
	problem.RuleNull:       "A null isn't what the server would keep.",
	problem.RuleStale:      "A file isn't what is rendered.",
	problem.RuleUnchecked:  "The instance couldn't be checked.",
	unnamedRule:            "The instance is invalid.",
}
