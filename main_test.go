package trocar

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"trocar/internal/kernel"
)

// TestMain leaves out the example that traces where that is not allowed, unless it is required.
func TestMain(m *testing.M) {
	flag.Parse()
	if missing := kernel.Inspect(kernel.NewFeatures()).MissingCaps; len(missing) > 0 && os.Getenv("TROCAR_REQUIRE_ROOT") ==
		"" {
		fmt.Fprintf(os.Stderr, "SKIP: Example needs %v to trace (TROCAR_REQUIRE_ROOT=1 makes this a failure)\n", missing)
		if f := flag.Lookup("test.skip"); f.Value.String() == "" {
			_ = f.Value.Set("^Example$")
		}
	}
	os.Exit(m.Run())
}
