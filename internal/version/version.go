// Package version knows the version of the running program. All programs of the
// project share it: the command line prints it and sends it as part of its user
// agent, and the applier logs it.
package version

import "runtime/debug"

// linked is set by the linker in builds by make and in releases:
//
//	go build -ldflags "-X github.com/pequod-io/pequod/internal/version.linked=v1.2.3"
var linked string

// imageDigest is set by the linker in releases. It is the digest of the image of the
// applier, such as sha256:0123….
var imageDigest string

// managerDigest is the same for the image of the manager.
var managerDigest string

// actionsDigest is the same for the image of pequod-actions.
var actionsDigest string

// ActionsDigest returns the digest of the released image of pequod-actions, or "" in other
// builds.
func ActionsDigest() string { return actionsDigest }

// ManagerDigest returns the digest of the released image of the manager, or "" in other
// builds.
func ManagerDigest() string { return managerDigest }

// ImageDigest returns the digest of the released image of the applier, or "" in other
// builds.
func ImageDigest() string { return imageDigest }

// Program returns the version that the linker set. A program that was built by
// `go install` has the version of its module instead; any other build is "dev".
func Program() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
