// Package definitions applies the CustomResourceDefinitions of Transforms: [Owner] and
// [Refusals] decide whether a definition may be applied, [Client.Apply] applies it, and
// [Client.Migrate] rewrites stored objects before a version is removed.
//
// It knows CRDs and neither modules nor the status of Transforms.
package definitions
