package controlplane

import (
	"errors"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// etcd reserves the size of two segments of its log on the disk, 128 MB by default. Tests run a dozen
// clusters at a time.
func init() { wal.SegmentSizeBytes = 8 << 20 }

// startEtcd starts a database with one member on free ports. It does not sync to
// disk: data survives the process but not a crash of the machine, which is enough
// for a test cluster.
func startEtcd(opts Options) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = opts.join("etcd")
	config.LogLevel = "warn"
	// The zero value would log a warning for every request.
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	config.LogOutputs = []string{opts.join("etcd.log")}
	config.UnsafeNoFsync = true
	free := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.AdvertiseClientUrls = free, free
	config.ListenPeerUrls, config.AdvertisePeerUrls = free, free
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	case <-time.After(startPatience):
		etcd.Close()
		return nil, errors.New("not ready")
	}
}
