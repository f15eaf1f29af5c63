package check

import (
	"trocar/internal/near"
	"trocar/internal/script/diag"
)

var noSpan diag.Span

// hintNear adds the names that are nearest to a misspelt one, if any is near.
func hintNear(d *diag.Diagnostic, name string, names []string) {
	if n := near.Names(name, names); len(n) > 0 {
		d.Hint("did you mean %s?", near.List(n))
	}
}
