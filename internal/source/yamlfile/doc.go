// Package yamlfile reads YAML and JSON files that users wrote, such that every
// value keeps its position and means the same to every reader.
//
// YAML parsers disagree: `yes` is a string to one and a boolean to another,
// `---x` begins a document to kubectl and is text to the YAML library, and
// Go's JSON decoder lets the last of two equal keys win. Instances are
// rendered from git by Pequod and applied from the same files by kubectl or
// read back from the API server, so the package reports every such value as a
// problem instead of choosing a meaning.
//
// [Documents], [Objects] and [Parse] read a file, and [Parts] splits it; a [Document]
// is converted to CUE syntax, decoded into a Go value, or asked for positions. The
// files of the package, in the order of a read:
//
//   - file.go keeps the bytes and converts lines and columns to positions;
//   - encoding.go refuses bytes and characters that YAML does not allow;
//   - parts.go splits the file where kubectl splits it, documents.go reads the
//     documents, and json.go the files that kubectl takes for JSON;
//   - syntaxerror.go finds the line of a YAML syntax error;
//   - document.go is one document, and convert.go, merge.go and scalar.go turn it
//     into CUE syntax.
//
// The package knows no Kubernetes types and does not judge what a document
// means.
package yamlfile
