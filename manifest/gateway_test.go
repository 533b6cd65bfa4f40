package manifest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// gatewayAPI is the module whose CRDs and examples are the real input.
const gatewayAPI = "sigs.k8s.io/gateway-api@v1.7.0"

// moduleDir returns a module's directory in the module cache. A download that
// fails is a failure of the test.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	// A module that asks for a newer Go than this one's has its files in the cache
	// too, but the command exits with 1 and names no Dir.
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var got struct{ Dir, Zip, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr != nil {
		t.Fatalf("go mod download -json %s: %v, %v", module, err, jsonErr)
	}
	if got.Dir == "" && got.Zip != "" {
		cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		got.Dir = filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(module))
	}
	if _, err := os.Stat(got.Dir); err != nil {
		t.Fatalf("go mod download -json %s: no files: %v %s", module, err, got.Error)
	}
	return got.Dir
}

// kindSchema is an imported kind with its compiled schema.
type kindSchema struct {
	doc    []byte
	schema *jsonschema.Schema
}

// importAll imports every CRD of a channel, checks the conversion and compiles it.
func importAll(t *testing.T, dir string) (crds int, kinds map[string]kindSchema) {
	t.Helper()
	docs, err := Read([]string{dir}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	kinds = map[string]kindSchema{}
	for _, d := range docs {
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		roundTrip(t, d.JSON)
		fields, _ := parseObject(d.JSON)
		out, warnings, err := ImportCRD(d.JSON, "name")
		if text(fields, "kind") != "CustomResourceDefinition" {
			if err == nil {
				t.Fatalf("%s: %s was imported", d, text(fields, "kind"))
			}
			continue
		}
		if err != nil {
			t.Fatal(d.Wrap(err))
		}
		crds++
		if hasCEL := bytes.Contains(d.JSON, []byte("x-kubernetes-validations")); hasCEL != strings.Contains(strings.Join(warnings, "\n"), "CEL rules are not checked") {
			t.Errorf("%s: CEL rules %v, warnings %q", d, hasCEL, warnings)
		}
		for _, kind := range out {
			apiVersion, name, schema := compileKind(t, kind)
			kinds[apiVersion+" "+name] = kindSchema{kind, schema}
			roundTrip(t, kind)
			if _, notes, err := Normalize(kind); err != nil || len(notes) > 0 {
				t.Errorf("Normalize of %s: %v %v", name, notes, err)
			}
		}
	}
	return crds, kinds
}

// compileKind compiles the schema of a Kind document.
func compileKind(t testing.TB, kind []byte) (apiVersion, name string, schema *jsonschema.Schema) {
	t.Helper()
	fields, err := parseObject(kind)
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := parseObject(fields.get("spec"))
	raw := spec.get("schema")
	if raw == nil {
		return text(spec, "apiVersion"), text(spec, "name"), nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:///spec", value); err != nil {
		t.Fatal(err)
	}
	if schema, err = c.Compile("mem:///spec"); err != nil {
		t.Fatalf("compile schema of %s: %v", text(spec, "name"), err)
	}
	return text(spec, "apiVersion"), text(spec, "name"), schema
}

// verdict is what becomes of an example: "" for accepted, or the reason.
func verdict(kinds map[string]kindSchema, d Document) string {
	if d.Err != nil {
		return d.Err.Error()
	}
	out, _, err := Normalize(d.JSON)
	if err != nil {
		return err.Error()
	}
	fields, _ := parseObject(out)
	kind, ok := kinds[text(fields, "apiVersion")+" "+text(fields, "kind")]
	if !ok {
		return "no kind " + text(fields, "apiVersion") + " " + text(fields, "kind")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(fields.get("spec")))
	if err != nil {
		return err.Error()
	}
	if err := kind.schema.Validate(value); err != nil {
		return err.Error()
	}
	return ""
}

// refusals are the examples that a channel's kinds do not take, and why. Nothing
// else may be refused, and each of these for this reason alone.
var refusals = map[string]map[string]int{
	"standard": {
		// Namespaces are a core type of Kubernetes; no CRD defines them.
		"no kind v1 Namespace": 11,
		// The standard channel has these versions with served: false.
		"no kind gateway.networking.k8s.io/v1alpha2 TCPRoute": 1,
		"no kind gateway.networking.k8s.io/v1alpha2 TLSRoute": 1,
		"no kind gateway.networking.k8s.io/v1alpha3 TLSRoute": 1,
	},
	"experimental": {"no kind v1 Namespace": 11},
}

// beyondSchema are the module's invalid examples that only CEL rules, the keys
// of lists of type map, or formats refuse. The import warns that none of these
// is checked; every other invalid example must be refused.
var beyondSchema = []string{
	"gateway/duplicate-listeners", "gateway/hostname-tcp", "gateway/hostname-udp", "gateway/invalid-addresses",
	"gateway/invalid-tls-mode", "gateway/tlsconfig-tcp",
	"httproute/duplicate-header-match", "httproute/duplicate-query-match", "httproute/httproute-portless-backend",
	"httproute/httproute-portless-service", "httproute/invalid-filter-duplicate", "httproute/invalid-filter-empty",
	"httproute/invalid-filter-externalauth-empty", "httproute/invalid-filter-wrong-field",
	"httproute/invalid-path-alphanum-specialchars-mix", "httproute/invalid-path-specialchars",
	"httproute/invalid-request-redirect-with-backendref",
}

func TestGatewayAPI_RealManifests(t *testing.T) {
	root := moduleDir(t, gatewayAPI)
	passed := map[string]bool{}
	for channel, want := range map[string]struct{ crds, kinds, accepted, invalid int }{
		"standard":     {10, 14, 103, 32},
		"experimental": {14, 23, 106, 4},
	} {
		crds, kinds := importAll(t, filepath.Join(root, "config", "crd", channel))
		accepted, refused := 0, map[string]int{}
		for _, d := range examples(t, filepath.Join(root, "examples")) {
			roundTrip(t, d.JSON)
			keepsSpec(t, d)
			if why := verdict(kinds, d); why != "" {
				refused[why]++
				continue
			}
			accepted++
		}
		if !maps.Equal(refused, refusals[channel]) {
			t.Errorf("%s: refused %v, want %v", channel, refused, refusals[channel])
		}
		invalid := examples(t, filepath.Join(root, "hack", "invalid-examples", channel))
		for _, d := range invalid {
			roundTrip(t, d.JSON)
			if verdict(kinds, d) == "" {
				dir, file := filepath.Split(d.Source)
				passed[filepath.Base(dir)+"/"+strings.TrimSuffix(file, ".yaml")] = true
			}
		}
		if crds != want.crds || len(kinds) != want.kinds || accepted != want.accepted || len(invalid) != want.invalid {
			t.Errorf("%s: %d CRDs, %d kinds, %d examples accepted, %d invalid ones; want %v",
				channel, crds, len(kinds), accepted, len(invalid), want)
		}
	}
	if got := slices.Sorted(maps.Keys(passed)); !slices.Equal(got, beyondSchema) {
		t.Errorf("invalid examples accepted:\n%s", strings.Join(got, "\n"))
	}
}

// examples reads every manifest below a directory.
func examples(t *testing.T, dir string) []Document {
	t.Helper()
	docs, err := Read([]string{dir}, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, d := range docs {
		files[d.Source] = true
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if !entry.IsDir() && isManifest(path) && !files[path] {
			t.Errorf("%s gave no document", path)
		}
		return nil
	})
	return docs
}

// keepsSpec holds that Normalize hands spec on byte for byte.
func keepsSpec(t *testing.T, d Document) {
	t.Helper()
	out, _, err := Normalize(d.JSON)
	if err != nil {
		t.Fatal(d.Wrap(err))
	}
	before, _ := parseObject(d.JSON)
	after, _ := parseObject(out)
	if !bytes.Equal(before.get("spec"), after.get("spec")) {
		t.Errorf("%s: spec %s became %s", d, before.get("spec"), after.get("spec"))
	}
	if !jsontext.Value(out).IsValid() {
		t.Errorf("%s: %s is no JSON", d, out)
	}
}
