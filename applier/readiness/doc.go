// Package readiness judges whether a live object is ready.
//
// [Compile] makes a [Checker] of a node, once; [Checker.Judge] says of an object, as
// often as it changes, whether it is ready, on its way, or failed, and why in a
// few words for people. Several checks of a node mean all of them; none means
// that kstatus calls the object current, which it does of an object without
// status, such as a ConfigMap, at once.
//
// An object that is being deleted is never ready, and a status that its
// controller wrote for an older generation never makes it ready. Failed isn't
// for ever: whoever mends the object may still make it ready.
//
// A PersistentVolumeClaim of a storage class that waits for its first consumer
// is bound by the Pod that uses it; where that Pod comes after the claim, the
// node needs the check Exists.
//
// The package looks at the one object alone. Why a Deployment's Pods don't
// start is for package cause to find out.
package readiness
