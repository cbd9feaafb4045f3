package cli_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

// writeKeyPair writes a new key to NAME.key and NAME.pub, and sets the variable NAME_KEY, in
// upper case, to the name of the key in messages: keypair NAME [PASSWORD]. With a password,
// the private key is encrypted as cosign does it. The name of a key sorts before those of all
// keys that the script wrote before.
func writeKeyPair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: keypair NAME [PASSWORD]")
	}
	var key *ecdsa.PrivateKey
	var public []byte
	var name string
	for name == "" || name > cmp.Or(ts.Getenv("LAST_KEY"), name) {
		var err error
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		public, err = x509.MarshalPKIXPublicKey(&key.PublicKey)
		ts.Check(err)
		name = fmt.Sprintf("sha256:%x", sha256.Sum256(public))
	}
	ts.Setenv("LAST_KEY", name)
	ts.Setenv(strings.ToUpper(args[0])+"_KEY", name)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	kind := "PRIVATE KEY"
	if len(args) == 2 {
		kind = "ENCRYPTED SIGSTORE PRIVATE KEY"
		private, err = encrypted.Encrypt(private, []byte(args[1]))
		ts.Check(err)
	}
	write := func(file, kind string, data []byte) {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]+file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
	}
	write(".key", kind, private)
	write(".pub", "PUBLIC KEY", public)
}
