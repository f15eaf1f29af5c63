package trocar

import (
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Format gives a script in the standard form. The error is a *CompileError if it is no script.
func Format(name, text string) (string, error) {
	var diags diag.List
	file := syntax.Parse(&diag.Source{Name: name, Text: text}, syntax.ParseOptions{}, &diags)
	if diags.Errors() > 0 {
		return "", &CompileError{Diags: diags.All}
	}
	return syntax.Print(file), nil
}
