package trocar

import (
	"trocar/internal/process/probe"
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
	Unsafe  bool
}

// Listed is a probe point in the form that scripts take.
type Listed struct {
	Name   string
	Params []string // "int fd"
}

// List lists probe points. An error is a *CompileError.
func List(o ListOptions) ([]Listed, error) {
	opts := probe.Options{PID: o.PID, Unsafe: o.Unsafe, Demangle: true}
	var entries []probe.Entry
	var diags diag.List
	if o.Script != "" {
		p := &Program{opts: Options{Script: o.Script, ScriptName: o.Name, Params: o.Params}}
		file, err := p.parse(&diags)
		if err != nil {
			return nil, err
		}
		entries, diags = probe.ListScript(file.Probes, o.Verbose, opts)
	} else {
		entries, diags = probe.List(o.Pattern, o.Verbose, opts)
	}
	var out []Listed
	for _, e := range entries {
		out = append(out, Listed(e))
	}
	if diags.Errors() > 0 {
		return out, &CompileError{Diags: diags.All, NoMatch: true}
	}
	return out, nil
}
