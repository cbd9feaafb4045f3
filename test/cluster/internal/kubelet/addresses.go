package kubelet

import (
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// addresses assigns unique addresses from 10.244.0.0/16 to Pods.
type addresses struct {
	mu    sync.Mutex
	last  netip.Addr
	owner map[types.UID]netip.Addr
	taken map[netip.Addr]bool
}

// podNetwork is the range of the addresses of Pods.
func podNetwork() netip.Prefix { return netip.MustParsePrefix("10.244.0.0/16") }

// newAddresses returns an allocator without allocated addresses.
func newAddresses() *addresses {
	return &addresses{
		last:  podNetwork().Addr(),
		owner: map[types.UID]netip.Addr{},
		taken: map[netip.Addr]bool{},
	}
}

// of returns the address of a Pod and assigns one if necessary. It would loop if all
// addresses were taken, but the capacity of the nodes does not allow so many Pods.
func (a *addresses) of(uid types.UID) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if addr, ok := a.owner[uid]; ok {
		return addr.String()
	}
	for {
		if a.last = a.last.Next(); !podNetwork().Contains(a.last) {
			a.last = podNetwork().Addr().Next()
		}
		if !a.taken[a.last] {
			a.owner[uid], a.taken[a.last] = a.last, true
			return a.last.String()
		}
	}
}

// keep lets a Pod keep the address that it has.
func (a *addresses) keep(uid types.UID, address string) {
	addr, err := netip.ParseAddr(address)
	if err != nil || !podNetwork().Contains(addr) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owner[uid], a.taken[addr] = addr, true
}

// release frees the address of a Pod.
func (a *addresses) release(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.taken, a.owner[uid])
	delete(a.owner, uid)
}
