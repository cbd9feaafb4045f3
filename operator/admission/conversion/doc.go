// Package conversion converts instances between the versions of their kind, as the webhook of
// CustomResourceDefinitions whose modules define conversions.
//
// [Webhook] answers the API server, in all replicas. [Stanza] returns the field spec.conversion
// of the definitions, which the controller of Transforms applies.
//
// An instance is converted by a module that has both versions. While a definition changes, there
// may be two: the module of the definition that is being applied, and the one that it replaces.
// If this replica has none, the conversion fails, and the client repeats its request: no answer
// is better than a wrong one, because the API server may store it.
package conversion
