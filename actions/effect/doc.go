// Package effect performs the effects of messages on objects in the cluster.
//
// An effect is one write, and the same write adds a digest of the message to the annotation
// pequod.io/received of the object. The write has the resourceVersion of the object that it changes, or
// it conflicts with this annotation of an object that is thought to be new. So each effect of a message
// happens once per object, although messages are delivered again after a crash, after an answer that was
// lost, or to another replica. No other store is needed. All Receivers write this annotation; of all
// other fields that are applied, each Receiver has its own.
//
// A message that applies an object is one request, unless others have changed the object. Messages that
// request reconciliations of one object at once share a write, see batches.go.
//
// [Effects.Perform] is the entry point. message.go evaluates the message and receipts.go finds effects
// that were done before, both without a cluster. The other files read and write objects, as the
// service account of the Receiver.
package effect
