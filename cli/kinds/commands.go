// Package kinds has the commands that tell what the fields of a kind are, for those who
// write instances. All of them work offline, from the modules alone.
//
//   - definitions.go: the kinds that the commands know
//   - explain.go: explain, the fields of a kind as text
//   - schema.go: schema, JSON schemas for editors and validators; files.go writes them, and
//     modeline.go names them in instances
//
// The text is made by crdgen/explain, and the schemas by crdgen/jsonschema.
package kinds

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package: explain and schema.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newExplainCommand(env), newSchemaCommand(env)}
}
