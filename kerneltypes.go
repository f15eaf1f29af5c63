package trocar

import (
	"strings"
	"sync"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/script/diag"
)

// kernelTypes are the running kernel's types, opened when the first is asked for. A kernel that shows none has none.
type kernelTypes struct {
	once sync.Once
	btf  *debuginfo.BTF
}

func (k *kernelTypes) open() *debuginfo.BTF {
	k.once.Do(func() {
		if b, err := debuginfo.OpenBTF(debuginfo.KernelBTF); err == nil {
			k.btf = b
		}
	})
	return k.btf
}

func (k *kernelTypes) close() {
	k.once.Do(func() {})
	if k.btf != nil {
		k.btf.Close()
	}
}

// named finds a type by its name in C.
func (k *kernelTypes) named(name string) *types.Type {
	if b := k.open(); b != nil {
		return b.Type(name)
	}
	return nil
}

// enumerator finds a constant of any of the kernel's enums.
func (k *kernelTypes) enumerator(name string) (*types.Type, int64, bool) {
	if b := k.open(); b != nil {
		return b.Enumerator(name)
	}
	return nil, 0, false
}

// hasKfunc tells whether the kernel has a function for programs to call.
func (k *kernelTypes) hasKfunc(name string) bool {
	b := k.open()
	return b != nil && b.HasKfunc(name)
}

// prototype finds the parameters of a function or, with raw, of a tracepoint.
func (k *kernelTypes) prototype(name string, raw bool) (debuginfo.Prototype, bool) {
	b := k.open()
	switch {
	case b == nil:
		return debuginfo.Prototype{}, false
	case raw:
		return b.RawTracepoint(name)
	}
	return b.Func(name)
}

// isTypePattern tells whether a pattern of a list is for types of the kernel: "struct task_struct", "enum *access*".
func isTypePattern(pattern string) bool {
	word, _, ok := strings.Cut(pattern, " ")
	return ok && (word == "struct" || word == "union" || word == "enum") && !strings.Contains(pattern, ":")
}

// listTypes lists types of the kernel, verbosely with their definitions.
func listTypes(pattern string, verbose bool) ([]Listed, diag.List) {
	var diags diag.List
	var k kernelTypes
	defer k.close()
	b := k.open()
	if b == nil {
		diags.Errorf(diag.Span{}, "this kernel shows no types (%s)", debuginfo.KernelBTF).Hint("a kernel built with CONFIG_DEBUG_INFO_BTF does")
		return nil, diags
	}
	word, name, _ := strings.Cut(pattern, " ")
	pattern = word + " " + strings.TrimSpace(name)
	var out []Listed
	add := func(name string) {
		l := Listed{Name: name}
		if verbose {
			if t := b.Type(name); t != nil {
				l.Definition = "vmlinux: " + types.Define(t)
			}
		}
		out = append(out, l)
	}
	if !strings.Contains(pattern, "*") {
		if b.Type(pattern) != nil {
			add(pattern)
		}
	} else {
		for _, name := range b.Tags() {
			if objfile.MatchGlob(pattern, name) {
				add(name)
			}
		}
	}
	if len(out) == 0 {
		diags.Errorf(diag.Span{}, "the kernel has no type %s", pattern).Hint("to look for a part of the name: '%s *%s*'", word, strings.Trim(name, " *"))
	}
	return out, diags
}
