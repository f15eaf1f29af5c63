package match

import (
	"context"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/runtimes"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Fitting finds the functions that an attach point fits by their names alone, without a look at their code, and the
// file that they are in. It gives none where that does not tell: where several files may have some, and where a runtime
// makes code.
func Fitting(ctx context.Context, ap *syntax.AttachPoint, opts Options) (file string, funcs []objfile.Func) {
	var diags diag.List
	m := newMatcher(ctx, opts, &diags)
	defer m.close()
	if !m.checkProcess() {
		return "", nil
	}
	specs := m.specs(ap)
	if len(specs) != 1 || !specs[0].kind.parse(m, specs[0]) || specs[0].isAddr || specs[0].hasOff || specs[0].file != "" {
		return "", nil
	}
	s := specs[0]
	files, err := m.target(s)
	if err != nil || len(files) != 1 || s.target == "" && objfile.NamesMethod(s.fn) || files[0].obj.Managed() != nil {
		return "", nil
	}
	b := files[0]
	if m.pid() != 0 {
		for _, c := range b.runtimes() {
			if _, makes := c.(runtimes.MadeCode); makes {
				return "", nil
			}
		}
	}
	if funcs, err = b.obj.Match(objfile.NewQuery(s.fn, s.lang)); err != nil {
		return "", nil
	}
	return b.path, funcs
}
