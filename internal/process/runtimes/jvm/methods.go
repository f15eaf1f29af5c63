package jvm

import (
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// methods are those of a virtual machine.
type methods struct{ *machine }

// methodsOf opens the virtual machine of a process; nil without an error: there is none.
func methodsOf(pid int) (runtimes.Methods, error) {
	v, err := open(target.PID(pid))
	if v == nil || err != nil {
		return nil, err
	}
	return methods{v}, nil
}

// typesOf opens it for the names of classes; nil: that cannot be.
func typesOf(pid int) runtimes.Types {
	v, err := open(target.PID(pid))
	if v == nil || err != nil {
		return nil
	}
	return v
}

// Ended looks at what is there as long as the library is.
func (v methods) Ended() bool {
	v.m.Forget()
	var b [8]byte
	return !v.m.Read(b[:], v.off[head])
}

func (v methods) Close() { _ = v.machine.Close() } // it was only read

func (v methods) Find(prefix string, fits func(name, types string) bool) (list []runtimes.Method, cut bool) {
	for _, m := range v.methods(prefix, fits) {
		sc := &probe.Scope{}
		out := runtimes.Method{Name: m.name, Types: m.types, Overloaded: m.several, ID: m.at, Scope: sc, NoCode: m.noCode}
		for _, p := range m.params {
			sc.Args = append(sc.Args, probe.Var{Name: p.name, Type: p.typ, Place: p.place})
			sc.ArgN, sc.ArgNTypes = append(sc.ArgN, p.place), append(sc.ArgNTypes, p.typ)
			out.Declared = append(out.Declared, p.declared())
		}
		out.InterpretedScope = &probe.Scope{}
		for i, p := range m.params {
			at := sc.Args[i]
			if at.Place.Kind != types.Unavailable { // else it is not in compiled code, and scripts are for both
				at.Place = types.Place{Kind: types.InMemory, Reg: v.arch.SP, Offset: int64(8 * p.pushed)}
			}
			in := out.InterpretedScope
			in.Args, in.ArgN, in.ArgNTypes = append(in.Args, at), append(in.ArgN, at.Place), append(in.ArgNTypes, p.typ)
		}
		out.Interpreted = func() (word, next uint64) { return v.interpreted(m) }
		out.Away = code.NotEntrant(v.arch)
		out.Result = v.result(m.result)
		out.Ends = func(b runtimes.Body) ([]uint64, error) { return v.ends(m, b) }
		out.Body = func() (runtimes.Body, error) { return v.body(m) }
		out.Replaced = v.m.Number(m.at+v.off[intrinsic], 2) != 0
		out.Unpaired = func() string {
			v.m.Forget()
			return v.unpaired()
		}
		out.Inlined = func() ([]string, error) { return v.inlined(m) }
		i := strings.LastIndexByte(m.name, '.')
		out.Kept = "java -XX:CompileCommand=dontinline," + m.name[:i] + "::" + m.name[i+1:]
		list = append(list, out)
	}
	return list, v.m.Cut() || len(list) == mostMethods
}

// interpreted finds where the interpreter reads what a method's description refers to as it begins a call. All methods
// begin there, but each has a description of its own.
func (v *machine) interpreted(m *method) (word, next uint64) {
	const most = 8
	var text [most]byte
	entry := v.m.Word(m.at + v.interpreter)
	if v.interpreter == 0 || !v.m.Read(text[:], entry) {
		return 0, 0
	}
	n := code.InterpretedEntry(v.arch, text[:], v.off[constMethod])
	if n == 0 {
		return 0, 0
	}
	return m.at + v.off[constMethod], entry + uint64(n)
}
