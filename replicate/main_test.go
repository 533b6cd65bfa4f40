package replicate_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// update rewrites the golden transcripts: go test ./replicate -update.
var update = flag.Bool("update", false, "rewrite testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
