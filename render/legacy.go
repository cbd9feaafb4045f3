package render

// legacyNames maps the names of node fields in modules for the original
// operator to the present names. Both are read.
var legacyNames = map[string]string{"object": "resource", "dependsOn": "dependencies"}
