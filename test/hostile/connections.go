package hostile

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// Port is a port of a program that any Pod can connect to.
type Port struct {
	Address string // HOST:PORT
	TLS     bool
	Paths   []string // of requests
}

// body is a text that is repeated between a head and a tail until it has a number of bytes.
type body struct {
	head, text, tail string
	size             int
}

func (b body) reader() (r io.Reader, length int) {
	block := strings.Repeat(b.text, 1+(64<<10)/len(b.text))
	readers := []io.Reader{strings.NewReader(b.head)}
	for length < b.size {
		readers = append(readers, strings.NewReader(block))
		length += len(block)
	}
	return io.MultiReader(append(readers, strings.NewReader(b.tail))...), len(b.head) + length + len(b.tail)
}

// expanding are the beginnings and the ends of messages around an array in which a text is repeated. The
// manager has the kind Topic.
var expanding = [][2]string{
	{`[`, `1]`},
	{`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"x","desiredAPIVersion":"pequod.io/v1","objects":[{"apiVersion":"pequod.io/v1alpha1","kind":"Topic","metadata":{"name":"x"},"spec":{"a":[`, `1]}}]}}`},
	{`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"x","desiredAPIVersion":"pequod.io/v1","objects":[`, `{}]}}`},
	{review("pequod.io", "Topic"), `1]}}}}`}, {review("platform.pequod.io", "Transform"), `1]}}}}`}, {review("platform.pequod.io", "ResourceGraph"), `1]}}}}`},
}

func review(group, kind string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x","kind":{"group":%[1]q,"version":"v1alpha1","kind":%[2]q},`+
		`"resource":{"group":%[1]q,"version":"v1alpha1","resource":"x"},"operation":"CREATE","name":"x","namespace":"a","userInfo":{"username":"x"},`+
		`"object":{"apiVersion":"%[1]s/v1alpha1","kind":%[2]q,"metadata":{"name":"x"},"spec":{"a":[`, group, kind)
}

// Connect does to the ports of a process what whoever can connect to them may do: requests whose
// bodies become much larger when they are decoded, are huge, nested or no text, nine at a time, and
// connections that say nothing. It fails the test as [Memory] does.
func Connect(t *testing.T, pid int, ports ...Port) {
	t.Helper()
	check := Memory(t, pid)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // the certificate isn't what is tested
	}}
	for _, p := range ports {
		scheme := "http://"
		if p.TLS {
			scheme = "https://"
		}
		for range 100 {
			silent, err := net.Dial("tcp", p.Address)
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
		}
		for _, path := range p.Paths {
			var bodies []body
			for _, size := range []int{150_000, 600_000, 6_500_000, 60_000_000} {
				for _, around := range expanding {
					for _, text := range []string{`{"":0},`, `{},`, `[[[[]]]],`} {
						bodies = append(bodies, body{around[0], text, around[1], size})
					}
				}
				for _, text := range []string{`[`, `{"a":`, "\x00\xff", "- - - - a\n", " "} {
					bodies = append(bodies, body{text: text, size: size})
				}
			}
			next := make(chan body)
			var senders sync.WaitGroup
			for range 9 {
				senders.Go(func() {
					for b := range next {
						content, length := b.reader()
						request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+p.Address+path, content)
						if err != nil {
							t.Error(err)
							continue
						}
						request.ContentLength = int64(length)
						request.Header.Set("Content-Type", "application/json")
						response, err := client.Do(request)
						if err != nil {
							continue // the program ends connections
						}
						_, _ = io.Copy(io.Discard, response.Body) // likewise
						response.Body.Close()
					}
				})
			}
			for _, b := range bodies {
				for range 3 {
					next <- b
				}
			}
			close(next)
			senders.Wait()
			check("requests to " + p.Address + path)
		}
	}
}

// Memory returns a function that fails the test if the memory of a process, which is at rest now, has
// exceeded twice that and 128 MiB since: a program holds 64 MiB for requests, and the garbage collector
// lets a heap double, see GOGC in package runtime.
func Memory(t *testing.T, pid int) (check func(by string)) {
	t.Helper()
	rest := memory(t, pid).VmRSS
	// The peak so far doesn't count, see proc(5).
	if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return func(by string) {
		t.Helper()
		peak := memory(t, pid).VmHWM
		t.Logf("%s: %d MiB at rest, at most %d MiB", by, rest>>20, peak>>20)
		if peak > 2*(rest+64<<20) {
			t.Errorf("%s took %d MiB; at rest it is %d MiB", by, peak>>20, rest>>20)
		}
	}
}

// memory returns the state of a process.
func memory(t *testing.T, pid int) procfs.ProcStatus {
	t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.NewStatus()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
