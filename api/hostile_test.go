package api_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// JSON that two parsers could read apart, or that costs more than it should,
// is refused, and nothing is written.
func TestHostileBodies(t *testing.T) {
	e := newEnv(t)
	before := e.node.store.Head()
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, body := range map[string]string{
		"duplicate in the form":  `{"metadata":{},"spec":1,"spec":2}`,
		"duplicate in metadata":  `{"metadata":{"name":"a","name":"a"}}`,
		"duplicate in spec":      `{"metadata":{},"spec":{"a":1,"a":2}}`,
		"escaped duplicate":      `{"metadata":{},"spec":{"a":1,"\u0061":2}}`,
		"another case":           `{"Metadata":{},"metadata":{}}`,
		"ACTOR beside actor":     `{"metadata":{},"actor":"agent","ACTOR":"human"}`,
		"actor in metadata":      `{"metadata":{"actor":"human"}}`,
		"look-alike":             `{"metadata":{},"ſpec":{}}`,
		"unknown field":          `{"metadata":{},"extra":1}`,
		"bad UTF-8":              "{\"metadata\":{},\"spec\":\"\xff\"}",
		"lone surrogate":         `{"metadata":{},"spec":"\ud800"}`,
		"deep spec":              `{"metadata":{},"spec":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`,
		"very deep spec":         `{"metadata":{},"spec":` + deep + `}`,
		"deep labels":            `{"metadata":{"labels":` + deep + `}}`,
		"trailing":               `{"metadata":{}}{"metadata":{}}`,
		"null":                   `null`,
		"NaN":                    `{"metadata":{},"spec":NaN}`,
		"byte order mark":        "\ufeff" + `{"metadata":{}}`,
		"owner references":       `{"metadata":{"ownerReferences":[{"id":"x"}]}}`,
		"two controllers":        `{"metadata":{"ownerReferences":[{"id":"00000000000000000000000001","controller":true},{"id":"00000000000000000000000002","controller":true}]}}`,
		"finalizers":             `{"metadata":{"finalizers":["a","a"]}}`,
		"wrong type":             `{"metadata":{"labels":{"a":1}}}`,
		"time of another planet": `{"metadata":{"validFrom":"99999-01-01T00:00:00Z"}}`,
	} {
		a := e.do("PUT", skills+"/a", body)
		if a.Code != http.StatusBadRequest && a.Code != http.StatusUnprocessableEntity || a.problem.Code != fleet.CodeInvalid {
			t.Errorf("%s: %d %s", name, a.Code, a.Body)
		}
		if len(a.Body.Bytes()) > 2048 {
			t.Errorf("%s: an answer of %d bytes", name, a.Body.Len())
		}
	}
	if e.node.store.Head() != before {
		t.Error("something was written")
	}
}

// A web page cannot use the API: neither under a name that it points at this
// address, nor by a request of its own.
func TestHostAndOrigin(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Hosts = []string{"node.example.dev:7117", "Other.Example.dev"} })
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:7117": true, "LOCALHOST": true, "127.0.0.1:7117": true, "127.8.9.1": true, "[::1]:7117": true, "[::1]": true,
		"node.example.dev": true, "node.example.dev:80": true, "other.example.dev.": true,
		"evil.example": false, "localhost.evil.example": false, "10.0.0.1": false, "": false, "127.0.0.1.evil.example": false, "node.example.dev@evil": false,
	} {
		for _, path := range []string{"/v1/node", "/readyz", "/nowhere"} {
			a := e.do("GET", path, "", "Host: "+host)
			if (a.Code != http.StatusForbidden) != ok {
				t.Errorf("host %q, %s: %d %s", host, path, a.Code, a.Body)
			}
		}
	}
	for _, head := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"} {
		e.refused(http.StatusForbidden, "forbidden", "cross-origin", "POST", skills, `{"metadata":{"name":"a"}}`, head)
		e.refused(http.StatusForbidden, "forbidden", "cross-origin", "PUT", skills+"/a", `{"metadata":{}}`, head)
	}
	e.ok(http.StatusCreated, "POST", skills, `{"metadata":{"name":"a"}}`, "Origin: http://localhost:7117", "Sec-Fetch-Site: same-origin")
	if a := e.ok(http.StatusOK, "GET", "/v1/node", "", "Origin: https://evil.example"); a.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("CORS is open")
	}
}

func TestTokens(t *testing.T) {
	const canary = "s3cret-canary"
	e := newEnv(t, func(c *api.Config) {
		c.Tokens = []api.Token{tokenOf("ci", canary), tokenOf("ada", "hers", resource.Human, resource.Agent)}
	})
	for _, head := range []string{"X: y", "Authorization: Bearer wrong", "Authorization: Basic " + canary, "Authorization: Bearer", "Authorization: Bearer " + canary + " "} {
		for _, path := range []string{"/v1/node", skills, "/metrics", "/"} {
			a := e.refused(http.StatusUnauthorized, "unauthorized", "DRIFTLESS_TOKEN", "GET", path, "", head)
			if a.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%v", a.Header())
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
		e.ok(http.StatusOK, "GET", path, "")
	}
	e.ok(http.StatusCreated, "PUT", skills+"/a", `{"metadata":{}}`, "Authorization: Bearer "+canary)
	e.refused(http.StatusForbidden, "forbidden", "[agent]", "PUT", skills+"/a", `{"metadata":{}}`, "Authorization: Bearer "+canary, human)
	e.refused(http.StatusForbidden, "forbidden", "system", "PUT", skills+"/a", `{"metadata":{}}`, "Authorization: bearer hers", "Driftless-Actor: system")
	if r := e.ok(http.StatusOK, "PUT", skills+"/a", `{"metadata":{}}`, "Authorization: bearer hers", human).resource(t); r.WriterActor != resource.Human {
		t.Error(r.WriterActor)
	}
	e.node.set(func() { e.node.fleet = func() (fleet.Fleet, error) { panic("ouch") } })
	e.do("GET", "/v1/fleet", "", "Authorization: Bearer "+canary)
	if strings.Contains(e.log.String(), canary) || !strings.Contains(e.log.String(), "ouch") {
		t.Errorf("logged %s", e.log)
	}
	for name, tokens := range map[string][]api.Token{
		"no name": {tokenOf("", "x")}, "empty": {tokenOf("a", "")}, "twice": {tokenOf("a", "x"), tokenOf("b", "x")}, "zero": {{Name: "a"}},
	} {
		if _, err := api.New(api.Config{Node: e.node, Tokens: tokens}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := api.New(api.Config{}); err == nil {
		t.Error("a server without a node")
	}
}

// Routes are closed unless they say that they are open: every one is asked.
func TestTokens_EveryRoute(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Tokens = []api.Token{tokenOf("ci", "x")} })
	for path, methods := range openAPIPaths(t, e) {
		for method := range methods {
			a := e.do(strings.ToUpper(method), filled(path), "")
			if open := path == "/healthz" || path == "/readyz" || path == "/openapi.json"; open != (a.Code == http.StatusOK) || !open && a.Code != http.StatusUnauthorized {
				t.Errorf("%s %s: %d", method, path, a.Code)
			}
		}
	}
}

type fakeAddr struct{ net.Listener }

func (fakeAddr) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 7117} }

func TestRun_RefusesAnOpenDoor(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t)
	err = e.srv.Run(t.Context(), fakeAddr{ln})
	if !errors.Is(err, api.ErrExposed) || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
	for _, tune := range []func(*api.Config){
		func(c *api.Config) { c.Tokens = []api.Token{tokenOf("a", "x")} },
		func(c *api.Config) { c.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert} },
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := newEnv(t, tune).srv.Run(ctx, fakeAddr{ln}); errors.Is(err, api.ErrExposed) {
			t.Errorf("%v", err)
		}
	}
}

// Run serves on TCP and Unix sockets, and ends waits when it is told to stop.
func TestRun(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			e := newEnv(t)
			asked := make(chan struct{}, 1)
			e.node.set(func() {
				e.node.fleet = func() (fleet.Fleet, error) {
					select {
					case asked <- struct{}{}:
					default:
					}
					return fleet.Fleet{Reason: "never"}, nil
				}
			})
			addr := "127.0.0.1:0"
			if network == "unix" {
				addr = filepath.Join(t.TempDir(), "s")
			}
			ln, err := net.Listen(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- e.srv.Run(ctx, ln) }()

			transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, ln.Addr().String())
			}}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			resp, err := client.Get("http://localhost/v1/node")
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
			_ = resp.Body.Close()

			waited := make(chan int, 1)
			go func() {
				resp, err := client.Get("http://localhost/v1/fleet/wait?timeout=5m")
				if err != nil {
					waited <- 0
					return
				}
				_ = resp.Body.Close()
				waited <- resp.StatusCode
			}()
			<-asked // the wait has begun
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if code := <-waited; code != http.StatusServiceUnavailable {
				t.Errorf("the wait ended with %d", code)
			}
		})
	}
}

// A request that is not HTTP or not a URL never reaches a handler.
func TestBadEscapes(t *testing.T) {
	e := newEnv(t)
	srv := httptest.NewServer(e.srv.Handler())
	defer srv.Close()
	for _, target := range []string{"/v1/kinds%zz", "/v1/resources/%", "/v1/resources/sk%0", "*", "/v1/resources/skills?selector=%", "/v1/../v1/kinds", "//v1/kinds", "/v1/scopes/global/resources/skills/%2e%2e/status"} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Errorf("%s: %d", target, resp.StatusCode)
		}
		_ = conn.Close()
	}
}

// A failure in the middle of an answer breaks it off: nobody takes half a list
// for a whole one.
func TestList_BreaksOff(t *testing.T) {
	e := newEnv(t)
	for range 150 {
		if _, err := e.node.store.Put(t.Context(), resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", GenerateName: "s-"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	req := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/v1/resources/skills", nil)
	w := &cancelling{ResponseRecorder: httptest.NewRecorder(), cancel: cancel}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("recovered %v, wrote %s", p, w.Body)
		}
	}()
	e.srv.Handler().ServeHTTP(w, req)
	t.Error("the answer ended as if it were whole")
}

// cancelling ends the request's context at the first write.
type cancelling struct {
	*httptest.ResponseRecorder
	cancel func()
}

func (c *cancelling) Write(b []byte) (int, error) {
	c.cancel()
	return c.ResponseRecorder.Write(b)
}

// A certificate makes an agent or the system of its bearer, no person; without
// one there is no way around.
func TestClientCertificates(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert} })
	put := func(state *tls.ConnectionState, actor string) int {
		req := httptest.NewRequest("PUT", "https://localhost"+skills+"/a", strings.NewReader(`{"metadata":{}}`))
		req.TLS = state
		req.Header.Set("Driftless-Actor", actor)
		w := httptest.NewRecorder()
		e.srv.Handler().ServeHTTP(w, req)
		return w.Code
	}
	proven := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: "robot"}}}}
	for actor, want := range map[string]int{"agent": 201, "human": 403} {
		if got := put(proven, actor); got != want {
			t.Errorf("%s: %d", actor, got)
		}
	}
	for _, state := range []*tls.ConnectionState{nil, {}} {
		if got := put(state, "agent"); got != http.StatusUnauthorized {
			t.Errorf("without a certificate: %d", got)
		}
	}
}

func TestRun_TLS(t *testing.T) {
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	e := newEnv(t, func(c *api.Config) { c.TLS = &tls.Config{Certificates: lender.TLS.Certificates} })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.srv.Run(ctx, ln) }()
	resp, err := lender.Client().Get("https://" + ln.Addr().String() + "/v1/node")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The node's clock may be anywhere: a body is read against the system's.
func TestBody_WrongClock(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Now = func() time.Time { return time.Unix(1, 0) } })
	srv := httptest.NewServer(e.srv.Handler())
	defer srv.Close()
	req, err := http.NewRequest("PUT", srv.URL+skills+"/a", strings.NewReader(`{"metadata":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Error(resp.Status)
	}
}
