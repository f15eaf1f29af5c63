package probe

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/script/diag"
)

// What debug information adds: named arguments and source positions.

// sourcePoints makes the points of a source position.
func (m *matcher) sourcePoints(s *spec, b *binary) []*Point {
	m.diags.Errorf(s.ap.Span, "No DWARF debug info found for '%s', cannot attach by source code location.", b.name).
		Note(diag.Span{}, "%s:%d", s.file, s.line)
	return nil
}

// funcParams are a function's parameters as declarations.
func (m *matcher) funcParams(b *binary, fn *objfile.Func) []string { return nil }
