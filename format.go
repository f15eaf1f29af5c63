package trocar

import (
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Format gives a script in the standard form. The error is a *CompileError if it is no script.
func Format(name, text string) (string, error) {
	var diags diag.List
	out := syntax.Format(&diag.Source{Name: name, Text: text}, &diags)
	if diags.Errors() > 0 {
		return "", compileError(&diags, false)
	}
	return out, nil
}
