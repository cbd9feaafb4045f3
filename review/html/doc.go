// Package html prints a review as one HTML file.
//
// [Write] is the entry point. The page works from a disk, sends no requests, and needs
// scripts only to filter, to move with keys and to show both sides next to each other
// (report.js): without them everything is there, folded. Equal changes are one entry with
// the list of their instances.
//
//	view.go      the report in the order of the page; entry.go has its objects
//	diff.go      the lines of an object before and after
//	link.go      addresses of files at a hosting site
//	report.html  the page, report.css its style and report.js its script
//
// Text from strangers gets into the page only through html/template or escaped by diff.go.
package html
