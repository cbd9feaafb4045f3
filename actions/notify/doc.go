// Package notify tells a server outside of the cluster what happened to objects of Pequod: in the
// format of Flux, for its notification-controller, or as CloudEvents.
//
// A notice is made of an Event about an object, or of an entry in the history of a graph that
// completes a revision, about which there is no Event. [OfEvent] and [OfGraph] make them, and
// [Format] encodes them; all are pure. [Setup] adds the controllers, which put notices into an
// outbox.
package notify
