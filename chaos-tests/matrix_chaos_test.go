//go:build chaos

package chaos

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/RELIABILITY.md says which test holds which fault: every test that it
// names is there, and every fault of the table is named.
func TestChaos_MatrixNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile("../docs/RELIABILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, matrix, found := strings.Cut(string(text), "## The fault matrix")
	if !found {
		t.Fatal("no fault matrix in docs/RELIABILITY.md")
	}
	source, err := exec.Command("grep", "-rhoE", "--include=*.go", `^func Test\w+|\{"[A-Z]\w+(/\w+)+"`, "..").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(matrix, -1) {
		if !strings.Contains(string(source), "func "+name[1]+"\n") {
			t.Errorf("%s is named and is not there", name[1])
		}
	}
	for _, name := range regexp.MustCompile(`\b[A-Z]\w+/[A-Z]\w*(/\w+)*`).FindAllString(matrix, -1) {
		if !strings.Contains(string(source), `"`+name+`"`) {
			t.Errorf("%s is named and is not there", name)
		}
	}
	faults := regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(matrix, -1)
	for _, s := range scenarios() {
		named := slices.ContainsFunc(faults, func(m []string) bool { return m[1] == s.name })
		if !named {
			t.Errorf("chaos %s holds no row", s.name)
		}
		for row := range strings.FieldsSeq(s.rows) {
			if !regexp.MustCompile(`(?m)^\| ` + row + ` \|.*` + "`" + s.name + "`").MatchString(matrix) {
				t.Errorf("row %s does not name chaos %s", row, s.name)
			}
		}
	}
}
