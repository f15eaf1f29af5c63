package trocar

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"trocar/internal/need"
)

// TestMain leaves out the example that traces where that is not allowed, unless it is required.
func TestMain(m *testing.M) {
	flag.Parse()
	if ok, lacks := need.HasRoot(); !ok {
		fmt.Fprintf(os.Stderr, "SKIP: Example needs %s to trace\n", lacks)
		if f := flag.Lookup("test.skip"); f.Value.String() == "" {
			_ = f.Value.Set("^Example$")
		}
	}
	os.Exit(m.Run())
}
