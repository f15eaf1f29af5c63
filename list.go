package trocar

import (
	"context"

	"trocar/internal/process/match"
	"trocar/internal/script/diag"
)

// ListRequest says what to list.
type ListRequest struct {
	// Pattern is an attach point with wildcards, as in a script, or types of the kernel, as in "struct task_*". "": all.
	Pattern string `json:"pattern,omitempty"`
	// Script asks for what this script would attach to, in place of a pattern; Name and Params are as in Request.
	Script string   `json:"script,omitempty"`
	Name   string   `json:"name,omitempty"`
	Params []string `json:"params,omitempty"`
	// PID asks for the points of a process; 0: none in particular.
	PID int `json:"pid,omitempty"`
	// Verbose asks for arguments and for the definitions of types.
	Verbose bool `json:"verbose,omitempty"`
	// Declarations asks for those of functions in place of arguments, as far as debug information tells them.
	Declarations bool  `json:"declarations,omitempty"`
	Files        Files `json:"files,omitzero"`
	Unsafe       bool  `json:"unsafe,omitempty"`
}

// Listed is a probe point in the form that scripts take, or a type of the kernel.
type Listed struct {
	Name   string
	Params []string // "int fd"
	// Definition is a type's definition in C, "" for a probe point.
	Definition string
	// Declaration is a function's in its language, "" if it was not asked for or is not known. File and Line are its
	// place in the source, "" and 0 if the compiler made it; Inlined is how many inlined copies there are.
	Declaration, File string
	Line, Inlined     int
	Prototype         bool // the declaration is known by the function's name, without debug information
}

// List calls yield with probe points, or types of the kernel. Warnings say what could not be looked at. Errors are
// *CompileError, or ctx.Err (wrapped).
func List(ctx context.Context, r ListRequest, m *Machine, yield func(Listed)) (warnings []Diagnostic, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	types := m.offers().Types()
	images := r.Files.images(ctx)
	defer images.done()
	opts := match.Options{
		Declared: r.Declarations, PID: r.PID, Unsafe: r.Unsafe, Demangle: true, SearchPath: r.Files.SearchPath,
		Images: images.Set, Prototype: prototype(types),
	}
	entry := func(e match.Entry) {
		l := Listed{Name: e.Name, Params: e.Params}
		if d := e.Declared; d != nil {
			l.Declaration, l.File, l.Line, l.Inlined = d.Text, d.File, d.Line, d.Copies
			l.Prototype = d.Prototype
		}
		yield(l)
	}
	var diags diag.List
	switch {
	case isTypePattern(r.Pattern):
		var out []Listed
		out, diags = listTypes(types, r.Pattern, r.Verbose)
		for _, l := range out {
			yield(l)
		}
	case r.Script != "":
		file, err := parse(&Request{Script: r.Script, Name: r.Name, Params: r.Params, Files: r.Files}, m, &diags)
		if err != nil {
			return nil, err
		}
		diags = match.ListScript(ctx, file.Probes, r.Verbose, opts, entry)
	default:
		diags = match.List(ctx, r.Pattern, r.Verbose, opts, entry)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if diags.Errors() > 0 {
		return nil, compileError(&diags, true)
	}
	return public(&diags, false), nil
}
