package driftless_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"driftless.dev/cli"
	"driftless.dev/manifest"
	"driftless.dev/resource"
)

// gatewayAPI is a real set of Kubernetes CRDs and manifests; the module cache
// holds it, and none of it is copied here.
const gatewayAPI = "sigs.k8s.io/gateway-api@v1.7.0"

func gatewayDir(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", gatewayAPI)
	cmd.Dir = t.TempDir() // not this module's: its go.mod stays as it is
	// A module that asks for a newer Go is downloaded all the same, and the
	// command then ends with 1 and names no Dir.
	out, runErr := cmd.Output()
	var m struct{ Dir, Error string }
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("download %s: %v\n%s", gatewayAPI, runErr, out)
	}
	if m.Dir == "" {
		cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		m.Dir = filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(gatewayAPI))
	}
	if _, err := os.Stat(m.Dir); err != nil {
		t.Fatalf("download %s: %v: %s", gatewayAPI, err, m.Error)
	}
	return m.Dir
}

// command runs the real command line against a member.
func command(t *testing.T, m *member, args ...string) (out, errOut string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), append(args, "--node", "http://"+m.Addr()), cli.Config{Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), stderr.String(), code
}

// Real manifests: the CRDs become kinds, every example is accepted or refused
// for a reason, all nodes hold the same bytes, and what comes back is the spec
// that went in, numbers included.
func TestFleet_GatewayAPIManifests(t *testing.T) {
	dir := gatewayDir(t)
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	out, errOut, code := command(t, fleet[0], "import", "crd", "-f", filepath.Join(dir, "config", "crd", "standard"))
	if code != cli.ExitOK {
		t.Fatalf("import crd: exit %d\n%s%s", code, out, errOut)
	}
	t.Logf("imported %d kinds", strings.Count(out, " created"))
	settle(t, fleet)

	accepted, refused := 0, map[string]int{}
	documents, err := manifest.Read([]string{filepath.Join(dir, "examples", "standard")}, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, doc := range documents {
		file := filepath.Join(t.TempDir(), "doc.json")
		if doc.Err != nil {
			t.Errorf("%s, document %d: %v", doc.Source, doc.Index, doc.Err)
			continue
		}
		if err := os.WriteFile(file, doc.JSON, 0o600); err != nil {
			t.Fatal(err)
		}
		out, errOut, code := command(t, fleet[i%3], "apply", "-f", file)
		if code == cli.ExitOK {
			accepted++
			continue
		}
		refused[reasonOf(t, doc.JSON, out+errOut)]++
	}
	t.Logf("%d documents accepted; refused: %v", accepted, refused)
	if accepted < 50 {
		t.Errorf("only %d of %d examples were accepted", accepted, len(documents))
	}
	settle(t, fleet)
	root := fleet[0].Info().SuperRoot
	for _, m := range fleet {
		if got := m.Info().SuperRoot; got != root {
			t.Errorf("P2: %s has super-root %s, a has %s", m.cfg.Name, got, root)
		}
	}
	specsComeBack(t, fleet[2], documents)
}

// reasonOf holds a refusal to the reasons that are right: the example's kind is
// not one of the imported ones, or its content does not lie in spec.
func reasonOf(t *testing.T, doc []byte, said string) string {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(doc, &head); err != nil {
		t.Fatal(err)
	}
	group, _ := resource.SplitAPIVersion(head.APIVersion)
	switch {
	case strings.Contains(said, "outside spec and status"):
		return "content outside spec"
	case group != "gateway.networking.k8s.io" && strings.Contains(said, "not registered"):
		return "kind not registered"
	}
	t.Errorf("%s %s is refused for no reason that is right: %s", head.APIVersion, head.Kind, said)
	return "other"
}

// specsComeBack reads every gateway record as YAML and compares its spec with
// the manifest's, as text in canonical form: no number may have changed.
func specsComeBack(t *testing.T, m *member, documents []manifest.Document) {
	t.Helper()
	compared := 0
	for _, doc := range documents {
		norm, _, err := manifest.Normalize(doc.JSON)
		if err != nil {
			continue
		}
		r, _, err := resource.ParseForm(norm)
		if err != nil || !strings.HasPrefix(r.APIVersion, "gateway.networking.k8s.io/") {
			continue
		}
		stored, err := m.Store().Get(t.Context(), r.GroupKind().String(), r.Scope, r.Name)
		if err != nil {
			continue // one of those that were refused
		}
		out, errOut, code := command(t, m, "get", r.GroupKind().String(), r.Name, "--scope", r.Scope.String(), "-o", "yaml")
		if code != cli.ExitOK {
			t.Errorf("get %s: %s", r.Name, errOut)
			continue
		}
		back, err := manifest.ToJSON([]byte(out))
		if err != nil {
			t.Errorf("get %s: %v", r.Name, err)
			continue
		}
		again, _, err := resource.ParseForm(back)
		if err != nil || string(again.Spec) != string(stored.Spec) {
			t.Errorf("get %s -o yaml: spec %s, stored %s, %v", r.Name, again.Spec, stored.Spec, err)
		}
		compared++
	}
	t.Logf("%d specs came back unchanged", compared)
	if compared < 40 {
		t.Errorf("only %d specs were compared", compared)
	}
}
