package trocar

import (
	"strings"

	"trocar/internal/binary/btf"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/script/diag"
)

// prototype finds the parameters of a function of the kernel or, with raw, of a tracepoint.
func prototype(kernel *btf.Types) func(name string, raw bool) (btf.Prototype, bool) {
	return func(name string, raw bool) (btf.Prototype, bool) {
		if raw {
			return kernel.RawTracepoint(name)
		}
		return kernel.Func(name)
	}
}

// isTypePattern tells whether a pattern of a list is for types of the kernel: "struct task_struct", "enum *access*".
func isTypePattern(pattern string) bool {
	word, _, ok := strings.Cut(pattern, " ")
	return ok && (word == "struct" || word == "union" || word == "enum") && !strings.Contains(pattern, ":")
}

// listTypes lists types of the kernel, verbosely with their definitions.
func listTypes(kernel *btf.Types, pattern string, verbose bool) ([]Listed, diag.List) {
	var diags diag.List
	if kernel.Err() != nil {
		diags.Errorf(diag.Span{}, "this kernel provides no type information (%s)", btf.KernelPath).
			Hint("it requires CONFIG_DEBUG_INFO_BTF")
		return nil, diags
	}
	word, name, _ := strings.Cut(pattern, " ")
	pattern = word + " " + strings.TrimSpace(name)
	var out []Listed
	add := func(name string) {
		l := Listed{Name: name}
		if verbose {
			if t := kernel.Type(name); t != nil {
				l.Definition = "vmlinux: " + types.Define(t)
			}
		}
		out = append(out, l)
	}
	if !strings.Contains(pattern, "*") {
		if kernel.Type(pattern) != nil {
			add(pattern)
		}
	} else {
		for _, name := range kernel.Tags() {
			if objfile.MatchGlob(pattern, name) {
				add(name)
			}
		}
	}
	if len(out) == 0 {
		diags.Errorf(diag.Span{}, "the kernel has no type %s", pattern).Hint("to look for a part of the name: '%s *%s*'",
			word, strings.Trim(name, " *"))
	}
	return out, diags
}
