package syntax

import (
	"os"
	"testing"

	"trocar/internal/script/diag"
)

// TestFormat keeps comments and blank lines, and is done after one time.
func TestFormat(t *testing.T) {
	text, err := os.ReadFile("testdata/format/comments.bt")
	if err != nil {
		t.Fatal(err)
	}
	var diags diag.List
	got := Format(&diag.Source{Name: "comments.bt", Text: string(text)}, &diags)
	if len(diags.All) > 0 {
		t.Fatal(format(&diags))
	}
	const want = `#!/usr/bin/env trocar
// What this is.
//
//   Example

#include "nothing.h" // not read here
#define A 1 /* one */
// about B
struct B { int x; /* kept */ };

/* config follows */
config = {
  // first
  max_map_keys = 10; // trailing
  stack_mode = perf;

  // last
}

// a map
let @a = hash(1); // its size
let @b = hash(2);

// detached

/*
 * A probe
 *   of two points
 */
// the first
/* the second */
// why
uprobe:a:b,
uprobe:c:d /pid == 1/ {
  // begin of the block
  $x = 1; // one

  /* two */
  /* in */
  $y = 2; /* after */ // and more
  if ($x) {
    // yes
    // multi
    print(1, 2);
    // end of if
  } else {
    /* empty */
  }

  while (1) {} // trailing
  $z = {
    // inner
    let $w = 1; // w
    $w // value
  };
  // end of block
} // end of probe

end {
  // only
}
// end of file
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if again := Format(&diag.Source{Name: "again", Text: got}, &diags); again != got {
		t.Errorf("again:\n%s", again)
	}
	if got := Format(&diag.Source{Text: "k:$1 /$2 == 1/ { print($3) }"}, &diags); got !=
		"k:$1 /$2 == 1/ {\n  print($3);\n}\n" {
		t.Errorf("got %s", got)
	}
}
