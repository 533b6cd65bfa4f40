package api_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/fuzztest"
)

// FuzzHandler makes any request of the whole chain: a success, or a problem that
// a client can read; never a panic, never the node's own fault.
func FuzzHandler(f *testing.F) {
	for _, method := range []string{"GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "get", ""} {
		for _, target := range []string{
			skills + "/a", skills, skills + "/a/status", skills + "/a/release", "/v1/resources/skill?selector=a%20in%20(b,c)&limit=1&continue=00", "/v1/ids/00000000000000000000000001",
			"/v1/ledger?reason=later&limit=2", "/v1/ledger/7k3m", "/v1/scopes/project=atlas/resources/note.a.example.dev/..%2f", "/v1//kinds", "/%2e%2e/v1", "/v1/fleet/wait?timeout=1ms", "/openapi.json", "/", "*",
		} {
			f.Add(method, target, "Driftless-Actor: human\nIf-Match: *", `{"metadata":{"labels":{"a":"b"}},"spec":{"size":1}}`)
		}
	}
	for _, text := range fuzztest.Texts() {
		f.Add("PUT", skills+"/a", "", text)
		f.Add("PUT", skills+"/a", "", `{"metadata":{},"spec":`+text+`}`)
		f.Add("PUT", skills+"/a/status", "", `{"metadata":{},"status":`+text+`}`)
		f.Add("PUT", "/v1/scopes/global/resources/kind/as.v1.a.dev", "", `{"metadata":{},"spec":{"apiVersion":"a.dev/v1","name":"A","plural":"as","schema":`+text+`}}`)
		f.Add("GET", "/v1/resources/skill?selector="+url.QueryEscape(text), "", "")
		f.Add("DELETE", skills+"/"+url.PathEscape(text), "If-Match: "+text, "")
	}
	for _, head := range []string{"Driftless-Wait: peers=99999999999", "Driftless-Wait: fleet\nDriftless-Wait-Timeout: 1ns", "Driftless-Epoch: 1/1.1@x", "Driftless-Owner: a/b", "Host: evil", "Origin: null", "If-None-Match: *", "Authorization: Bearer \xff", "Driftless-Actor: human\nDriftless-Actor: agent"} {
		f.Add("PUT", skills+"/a", head, `{"metadata":{}}`)
	}
	var node *fakeNode
	var srv *api.Server
	f.Cleanup(func() {
		if node == nil {
			return // the process that only hands the inputs out
		}
		if err := node.store.Close(); err != nil {
			f.Error(err)
		}
	})
	// What was written is read again, and costs more each time.
	fresh := func(t *testing.T) {
		if node != nil {
			must(0, node.store.Close())(t)
		}
		node = must(openNode(context.Background()))(t)
		srv = must(api.New(api.Config{Node: node, Logger: slog.New(slog.DiscardHandler)}))(t)
	}
	runs := 0
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, method, target, head, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return // the server refuses it before the handler
		}
		if runs++; srv == nil || runs%1000 == 0 {
			fresh(t)
		}
		var rec *httptest.ResponseRecorder
		cost.Run(t, []byte(method+target+head+body), func() {
			rec = httptest.NewRecorder()
			srv.Handler().ServeHTTP(rec, requestOf(method, u, head, body))
		})
		checkAnswer(t, method, target, rec)
	})
}

// requestOf is a request as a server reads it.
func requestOf(method string, u *url.URL, head, body string) *http.Request {
	r := &http.Request{
		Method: method, URL: u, RequestURI: u.String(), Host: "localhost:7117", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), RemoteAddr: "127.0.0.1:1",
	}
	for line := range strings.SplitSeq(head, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok && name == "Host" {
			r.Host = value
		} else if ok {
			r.Header.Add(name, value)
		}
	}
	return r
}

func checkAnswer(t *testing.T, method, target string, rec *httptest.ResponseRecorder) {
	t.Helper()
	if rec.Code < 400 {
		return
	}
	var p fleet.Problem
	err := jsonv2.Unmarshal(rec.Body.Bytes(), &p)
	if err != nil || rec.Header().Get("Content-Type") != "application/problem+json" || p.Status != rec.Code || p.Code == "" || p.Detail == "" {
		t.Fatalf("%q %q: %d without a problem: %s", method, target, rec.Code, rec.Body)
	}
	if rec.Code >= 500 && p.Code != fleet.CodeTimeout {
		t.Fatalf("%q %q: the node's own fault: %s", method, target, rec.Body)
	}
}

func must[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
