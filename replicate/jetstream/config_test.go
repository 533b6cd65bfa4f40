package jetstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"driftless.dev/replicate/jetstream"
	"driftless.dev/resource"
)

func TestNew_RefusesWhatNoWaitingCures(t *testing.T) {
	good := jetstream.Config{Fleet: "f", Instance: id(1), URLs: []string{"nats://a:4222"}}
	if _, err := jetstream.New(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*jetstream.Config){
		"fleet":        func(c *jetstream.Config) { c.Fleet = "a.b" },
		"instance":     func(c *jetstream.Config) { c.Instance = resource.ID{} },
		"no server":    func(c *jetstream.Config) { c.URLs = nil },
		"bad URL":      func(c *jetstream.Config) { c.URLs = []string{"nats://u:s3cret/x@a"} },
		"two secrets":  func(c *jetstream.Config) { c.Token, c.Creds = "s3cret", "f" },
		"half a pair":  func(c *jetstream.Config) { c.CertFile = "f" },
		"no context":   func(c *jetstream.Config) { c.Context = "absent" },
		"odd context":  func(c *jetstream.Config) { c.Context = "../x" },
		"hidden":       func(c *jetstream.Config) { c.Context = ".x" },
		"empty scheme": func(c *jetstream.Config) { c.URLs = []string{""} },
	} {
		cfg := good
		edit(&cfg)
		if _, err := jetstream.New(cfg); !errors.Is(err, jetstream.ErrConfig) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// useContexts makes a directory of NATS CLI contexts the user's.
func useContexts(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if err := os.MkdirAll(filepath.Join(dir, "nats", "context"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "nats", "context", name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNew_NATSContextConnects(t *testing.T) {
	s := startServer(t, func(c *jetstream.ServerConfig) { c.Token = "open" })
	useContexts(t, map[string]string{
		"prod":  `{"description":"x","url":"` + s.ClientURL() + `","token":"open","color_scheme":"red"}`,
		"other": `{"url":"nats://127.0.0.1:1","token":"open"}`,
		"nsc":   `{"url":"nats://a:4222","nsc":"nsc://op/acc/user"}`,
		"bad":   `{"url":`,
	})
	n := startNode(t, 1, "", func(_ *node, c *jetstream.Config) { c.Context = "prod" })
	n.untilStream()
	// What the configuration states goes before the context.
	m := startNode(t, 2, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.Context = "other" })
	m.untilStream()
	for _, name := range []string{"nsc", "bad"} {
		if _, err := jetstream.New(jetstream.Config{Fleet: "f", Instance: id(1), Context: name}); !errors.Is(err, jetstream.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBus_NKey(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	file := filepath.Join(t.TempDir(), "user.nk")
	s := startServer(t, func(c *jetstream.ServerConfig) { c.NKeys = []string{public} })
	n := startNode(t, 1, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.NKeyFile = file })
	n.untilReason("no such file") // it may come later
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	n.untilStream()
}

func TestBus_MutualTLS(t *testing.T) {
	ca, cert, key := certificates(t)
	s := startServer(t, func(c *jetstream.ServerConfig) { c.CertFile, c.KeyFile, c.CAFile = cert, key, ca })
	n := startNode(t, 1, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.CAFile, c.CertFile, c.KeyFile = ca, cert, key })
	n.untilStream()
	stranger := startNode(t, 2, s.ClientURL())
	stranger.untilReason("certificate")
}

// certificates makes one certificate that is its own authority, for both sides.
func certificates(t *testing.T) (ca, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	cert = write("cert.pem", "CERTIFICATE", der)
	return cert, cert, write("key.pem", "EC PRIVATE KEY", raw)
}
