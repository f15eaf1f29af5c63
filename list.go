package trocar

import (
	"trocar/internal/kernel"
	"trocar/internal/process/match"
	"trocar/internal/script/diag"
)

// ListOptions say what to list.
type ListOptions struct {
	Pattern string // of probe points, as in a script; "" : all
	Script  string // list what this script would attach to, instead
	Name    string // of the script
	Params  []string
	PID     int
	Verbose bool // with arguments
	// Declarations asks for those of functions in place of arguments, as far as debug information tells them.
	Declarations bool
	// DebugDirs are folders in which debug files are looked for first.
	DebugDirs []string
	Unsafe    bool
}

// Listed is a probe point in the form that scripts take, or a type of the kernel.
type Listed struct {
	Name   string
	Params []string // "int fd"
	// Definition is a type's definition in C.
	Definition string
	// Declaration is a function's in its language, with the place in the source and the number of inlined copies.
	Declaration, File string
	Line, Copies      int
}

// List calls yield with probe points, or types of the kernel for a pattern like "struct task_struct". Warnings say what could
// not be looked at. An error is a *CompileError.
func List(o ListOptions, yield func(Listed)) (warnings []*diag.Diagnostic, err error) {
	opts := match.Options{Declared: o.Declarations, PID: o.PID, Unsafe: o.Unsafe, Demangle: true, DebugDirs: o.DebugDirs}
	features := kernel.NewFeatures()
	opts.Prototype = prototype(features.Types())
	entry := func(e match.Entry) {
		l := Listed{Name: e.Name, Params: e.Params}
		if d := e.Declared; d != nil {
			l.Declaration, l.File, l.Line, l.Copies = d.Text, d.File, d.Line, d.Copies
		}
		yield(l)
	}
	var diags diag.List
	if isTypePattern(o.Pattern) {
		out, diags := listTypes(features.Types(), o.Pattern, o.Verbose)
		for _, l := range out {
			yield(l)
		}
		return listResult(&diags)
	}
	if o.Script != "" {
		p := &Program{opts: Options{Script: o.Script, ScriptName: o.Name, Params: o.Params}, features: features}
		file, err := p.parse(&diags)
		if err != nil {
			return nil, err
		}
		diags = match.ListScript(file.Probes, o.Verbose, opts, entry)
	} else {
		diags = match.List(o.Pattern, o.Verbose, opts, entry)
	}
	return listResult(&diags)
}

func listResult(diags *diag.List) (warnings []*diag.Diagnostic, err error) {
	if diags.Errors() > 0 {
		return nil, &CompileError{Diags: diags.All, NoMatch: true}
	}
	return diags.All, nil
}
