package golang

import (
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Arguments gives the arguments at a Go function's entry the places of the calling convention: debug information has
// none for those that the function doesn't use, and lacks unused parts of others. Those are there only if the function
// does not check its stack. What a closure has captured is among them; its address is in RDX.
func (c *Code) Arguments(fn *debuginfo.Function, p *probe.Point) {
	if p.Entry && c.file.Arch().Go() != nil {
		c.place(fn, p)
	}
	argN(p, "")
}

func (c *Code) place(fn *debuginfo.Function, p *probe.Point) {
	info, err := c.debug()
	if err != nil {
		return
	}
	sig, err := info.Signature(fn)
	if err != nil || !c.allParams(fn.Entry, sig.Params) {
		return
	}
	params := withoutDictionary(sig.Params)
	old := c.dictionaryFirst()
	if old && receiverMissing(fn.Name, params) {
		return
	}
	list := argTypes(fn, params, old)
	places, _ := c.file.Arch().Go().Places(list, nil, c.abi0(info, fn, list))
	if n := len(places) - len(params); n > 0 {
		at := dictionaryAt(fn.Name, len(params), old) // not an argument for people
		places = append(places[:at:at], places[at+n:]...)
	}
	args := slices.DeleteFunc(p.Scope.Args, func(v probe.Var) bool { return v.Name == dictionary })
	p.Scope.Args = args
	if len(args) != len(places) {
		return
	}
	gone := lost(c.file, fn.Entry, fn.Entry+min(c.file.CodeSize(fn.Entry), code.MaxFunction))
	for i := range args {
		if places[i] != nil {
			args[i].Place = *places[i]
			keep(&args[i].Place, gone)
		}
	}
	if !strings.Contains(fn.Name, ".func") && !strings.Contains(fn.Name, "-range") && !strings.Contains(fn.Name, "wrap") {
		return
	}
	locals, err := info.Locals(fn.Own(), p.Addr)
	if err != nil {
		return
	}
	const rdx = 1
	for i := range locals {
		local := &locals[i]
		if local.ClosureOffset == 0 || local.Type == nil {
			continue
		}
		v := probe.Var{Name: local.Name, Type: local.Type.Complete(), Place: types.Place{
			Kind: types.InMemory, Reg: rdx,
			Offset: int64(local.ClosureOffset - 1),
		}}
		if name, ok := strings.CutPrefix(local.Name, "&"); ok {
			// Captured by reference: the variable itself is meant.
			if v.Type.Kind != types.Pointer || v.Type.Elem == nil {
				continue
			}
			v.Name, v.Type, v.Place.Derefs = name, v.Type.Elem.Complete(), []int64{0}
		}
		if !slices.ContainsFunc(args, func(a probe.Var) bool { return a.Name == v.Name }) {
			args = append(args, v)
		}
	}
	p.Scope.Args = args
}

// Ruled tells whether the calling convention gives all of a function's arguments their places.
func (c *Code) Ruled(fn *debuginfo.Function) bool {
	info, err := c.debug()
	if err != nil || c.file.Arch().Go() == nil {
		return false
	}
	sig, err := info.Signature(fn)
	return err == nil && c.allParams(fn.Entry, sig.Params)
}

// allParams tells whether these are all of a function's parameters: up to Go 1.21 those without a name are left out,
// and still in functions that are inlined elsewhere.
func (c *Code) allParams(entry uint64, params []debuginfo.Var) bool {
	program := c.program()
	return program == nil || program.Fits(entry, typesOf(params))
}

func typesOf(vars []debuginfo.Var) (list []*types.Type) {
	for i := range vars {
		list = append(list, vars[i].Type)
	}
	return list
}

// argTypes are the types of what a function is given: its parameters, and for one that is shared by several
// instances of a generic function the dictionary that tells the type arguments.
func argTypes(fn *debuginfo.Function, params []debuginfo.Var, first bool) []*types.Type {
	list := typesOf(params)
	if !HasDictionary(fn.Name) {
		return list
	}
	at := dictionaryAt(fn.Name, len(list), first)
	word := types.TUint64
	return append(append(append([]*types.Type{}, list[:at]...), word), list[at:]...)
}

// dictionary is the name of the dictionary among the parameters, where the compiler doesn't optimize.
const dictionary = ".dict"

func withoutDictionary(params []debuginfo.Var) []debuginfo.Var {
	i := slices.IndexFunc(params, func(v debuginfo.Var) bool { return v.Name == dictionary })
	if i < 0 {
		return params
	}
	return append(params[:i:i], params[i+1:]...)
}

// dictionaryFirst tells whether the program's compiler put the dictionary first, as up to Go 1.19; later ones put it
// behind the receiver.
func (c *Code) dictionaryFirst() bool {
	program := c.program()
	return program != nil && program.dictionaryFirst()
}

func (p *Program) dictionaryFirst() bool { return p.minor > 0 && p.minor < 20 }

// receiverMissing tells whether the first of a method's parameters is not its receiver, which the debug information of
// Go up to 1.19 does not list for methods that the compiler makes of those of embedded fields.
func receiverMissing(name string, params []debuginfo.Var) bool {
	path := name[:strings.LastIndexByte(name, '/')+1]
	name = name[len(path):]
	if strings.Contains(name, "[") {
		return false
	}
	recv, method, ok := strings.Cut(name, ").")
	if pkg, typ, pointer := strings.Cut(recv, ".(*"); ok && pointer {
		return !strings.ContainsAny(method, ".-") && !receives(params, path+pkg+"."+typ, true)
	}
	parts := strings.Split(name, ".")
	return len(parts) == 3 && !strings.ContainsAny(parts[2], "0123456789-") &&
		!receives(params, path+parts[0]+"."+parts[1], false)
}

// receives tells whether the first parameter is of a type, or a pointer to it.
func receives(params []debuginfo.Var, typ string, pointer bool) bool {
	if len(params) == 0 || params[0].Type == nil {
		return false
	}
	t := params[0].Type.Complete()
	if pointer && (t.Kind != types.Pointer || t.Elem == nil) {
		return false
	}
	if pointer {
		t = t.Elem.Complete()
	}
	return t.Name == strings.ReplaceAll(typ, "%2e", ".")
}

// dictionaryAt is the position of a function's dictionary among its n parameters.
func dictionaryAt(name string, n int, first bool) int {
	if !first && isMethod(name) && n > 0 {
		return 1
	}
	return 0
}

// isMethod tells whether a name of a generic function is that of a method: pkg.(*T[…]).m or pkg.T[…].m.
func isMethod(name string) bool {
	if i := strings.LastIndexByte(name, ']'); i >= 0 {
		return strings.HasPrefix(name[i+1:], ".") || strings.HasPrefix(name[i+1:], ").")
	}
	return false
}

// abi0 tells whether a function takes its arguments on the stack, as assembly does: debug info then says so of a
// parameter that would have a register. The code tells, too: it has to load g itself.
func (c *Code) abi0(info *debuginfo.Info, fn *debuginfo.Function, args []*types.Type) bool {
	if strings.HasSuffix(fn.Name, ".abi0") || loadsG(c.file, fn.Entry) {
		return true
	}
	vars, err := info.Params(fn.Own(), fn.Entry)
	if err != nil {
		return false
	}
	vars = slices.DeleteFunc(vars, func(v debuginfo.Var) bool { return v.Result })
	places, _ := c.file.Arch().Go().Places(args, nil, false)
	if n := len(args) - len(vars); n > 0 { // the dictionary is none of debug info's
		at := dictionaryAt(fn.Name, len(vars), c.dictionaryFirst())
		places = append(places[:at:at], places[at+n:]...)
	}
	for i := range min(len(vars), len(places)) {
		v := &vars[i]
		if p := places[i]; p == nil || p.Kind != types.InRegister {
			continue
		}
		switch v.Place.Kind {
		case types.InMemory:
			return true
		case types.InRegister:
			return false
		}
	}
	return false
}

func loadsG(obj *objfile.File, entry uint64) bool {
	var err error
	defer objfile.Guard(&err)()
	return code.LoadsG(obj.Arch(), obj.Bytes(entry, int(min(obj.CodeSize(entry), code.MaxFunction))))
}
