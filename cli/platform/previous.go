package platform

import (
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/pin"
)

// Before returns the flags that load the same platforms with the modules that an earlier
// pequod.lock names, by their digests. now is the lock for the platforms as they are. A
// Transform that names another version of a module today than at the time of earlier loads
// the version of earlier; what else it says is that of today.
//
// Platforms and policies whose modules are new are left out. Modules come from the vendored
// ones, the cache or the registry.
func (f *Flags) Before(earlier, now *lock.File) (*Flags, error) {
	current, err := f.Pins()
	if err != nil {
		return nil, err
	}
	name, err := f.lockName()
	if err != nil {
		return nil, err
	}
	previous := lock.Before(earlier, now)
	o := pin.Options{Lock: previous.File, LockName: name, Locked: true, ByDigest: true, Offline: f.offline, Cache: current.Cache()}
	if o.Vendored, err = openVendored(name, earlier); err != nil {
		return nil, err
	}
	pins := pin.New(o)
	before := &Flags{Platforms: f.Platforms}
	before.Pins = func() (*pin.Pins, error) { return pins, nil }
	before.RegistryFlags = f.with(before.Pins)
	before.LimitFlags = f.LimitFlags
	before.Modules = &modules.Opener{
		Options: before.sources(before.Pins),
		Instead: func(ref v1alpha1.CueRef) (v1alpha1.CueRef, error) { return instead(previous, ref) },
	}
	return before, nil
}
