// Package transform is the controller of Transforms. It turns a Transform into a
// CustomResourceDefinition and roles, and lists the platform in a [catalog.Catalog] for the
// controllers of instances.
//
// [Setup] is the entry point. For each Transform the controller goes through the same steps,
// from the first that has changed: fetch the module, load it in a worker process, apply the
// CRD, grant the rights, publish the platform. Each step has a condition in the status. If a
// step fails, everything of the last good version stays: the CRD, the roles and the entry in
// the catalog.
//
// Reads come from informers, and an object is written only if it differs, so a Transform
// that is unchanged costs no request, but for the reviews of the manager's own rights after a
// restart and after changes of roles. The decisions are in packages
// definitions (CRDs) and roles (RBAC); this package renders nothing itself.
package transform
