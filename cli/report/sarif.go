package report

import (
	"bufio"
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"
)

// The part of SARIF 2.1.0 that we write:
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

// unnamedRule is the rule of problems that name none; SARIF wants one.
const unnamedRule = "invalid"

func writeSARIF(w *bufio.Writer, problems []Problem, version string) error {
	rules := ruleIDs(problems)
	run := sarifRun{
		Tool: sarifTool{Driver: sarifDriver{
			Name: "pequod", Version: version,
			InformationURI: "https://github.com/pequod-io/pequod",
			Rules:          []sarifRule{},
		}},
		Results: []sarifResult{},
	}
	for _, id := range rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: id, ShortDescription: sarifText{describe(id)}})
	}
	for _, p := range problems {
		id := cmp.Or(p.Rule, unnamedRule)
		index, _ := slices.BinarySearch(rules, id)
		result := sarifResult{
			RuleID: id, RuleIndex: index, Level: string(p.Severity),
			Message: sarifText{sentence(p)},
		}
		if p.File != "" {
			result.Locations = []sarifLocation{location(p)}
		}
		if p.Instance != "" {
			result.Properties = map[string]string{"instance": p.Instance}
		}
		run.Results = append(run.Results, result)
	}
	return encode(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func ruleIDs(problems []Problem) []string {
	var ids []string
	for _, p := range problems {
		ids = append(ids, cmp.Or(p.Rule, unnamedRule))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// location points at the problem. GitHub's code scanning refuses a place
// without a line, so a problem of the whole file is shown at its first.
func location(p Problem) sarifLocation {
	at := sarifLocation{PhysicalLocation: sarifPhysical{
		ArtifactLocation: artifact(p.File),
		Region:           sarifRegion{StartLine: max(p.Line, 1)},
	}}
	if p.Line > 0 {
		at.PhysicalLocation.Region.StartColumn = max(p.Column, 0)
	}
	if p.Path != "" {
		at.LogicalLocations = []sarifLogical{{FullyQualifiedName: p.Path, Kind: "member"}}
	}
	return at
}

// artifact is the URI of a file: relative to the root of the sources where the
// file is named relative to the working directory, which is that root in CI.
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

// describe is a rule of package render in a few words; a rule unknown here
// describes itself.
func describe(rule string) string {
	switch rule {
	case "yaml":
		return "The file isn't YAML, or isn't the same to every reader."
	case "instance":
		return "The apiVersion, kind or metadata of an instance is wrong."
	case "platform":
		return "No platform, or more than one, has the instance's kind."
	case "unknown":
		return "A field isn't part of the schema."
	case "required":
		return "A required field is missing."
	case "type":
		return "A value has the wrong type."
	case "enum":
		return "A value is none of those allowed."
	case "constraint":
		return "A value is out of bounds or doesn't match what the schema wants."
	case "policy":
		return "A policy was violated."
	case "module":
		return "The platform's module is broken."
	case "graph":
		return "The rendered graph is broken."
	case "secret":
		return "A secret value is in clear text."
	case "size":
		return "The rendered graph is too large."
	case "duplicate":
		return "Two instances stand for one object."
	case "reserved":
		return "An instance uses what belongs to modules."
	case "null":
		return "A null isn't what the server would keep."
	case "not-checked":
		return "The instance couldn't be checked."
	case unnamedRule:
		return "The instance is invalid."
	}
	return rule
}
