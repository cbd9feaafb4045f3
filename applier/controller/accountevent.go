package controller

import "github.com/pequod-io/pequod/applier/controller/share"

// accountEvent is a change of the account of a graph that calls for another run.
type accountEvent int8

const (
	noAccountEvent    accountEvent = iota
	accountCreated                 // the graph can't be executed before
	accountDeleted                 // the account may not delete the graph's objects
	accountAllowed                 // the account may not be used; [controller.retryRefused] tells
	kubeConfigChanged              // the cluster of the objects can't be used; [driver.secretRead] tells
	clusterKnown                   // it isn't known which cluster has the objects; [destination.whenKnown] tells
	rightsGranted                  // the account may not read or write the graph's objects; [rights] tells
	objectsDeletable               // the graph's objects can't be deleted; nothing tells
)

// happenedIn reports whether an observation of the account shows that it happened.
func (e accountEvent) happenedIn(o share.Observation) bool {
	switch e {
	case accountCreated:
		return o.Type == share.ObjectChanged || len(o.Objects) > 0
	case accountDeleted:
		return o.Type == share.ObjectDeleted || o.Type == share.Listed && len(o.Objects) == 0
	}
	return false
}

// isRights reports whether the account lacks rights until then.
func (e accountEvent) isRights() bool { return e == rightsGranted || e == accountDeleted }

// awaitedBy returns the event of the account that ends a stall for a reason.
func awaitedBy(reason string) accountEvent {
	switch reason {
	case reasonAccountMissing:
		return accountCreated
	case reasonAccountRefused:
		return accountAllowed
	case reasonKubeConfigMissing, reasonKubeConfigRefused, reasonKubeConfigInvalid, reasonClusterChanged:
		return kubeConfigChanged
	case reasonClusterUnavailable:
		return clusterKnown
	}
	return noAccountEvent
}
