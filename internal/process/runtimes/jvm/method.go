package jvm

import (
	"encoding/binary"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes"
)

// method is a method of a class.
type method struct {
	name   string // "app.Greeter.greet"
	types  string // of its parameters, without packages: "(String,int)"
	params []param
	result string // its descriptor

	several bool // the class has other methods of the name

	at, constMethod uint64
	klass, place    uint64 // its class, and where it is among the methods of that
	descriptor      string
	noCode          string // why it has none
}

// param is a parameter: this, and those of the source.
type param struct {
	name  string // "arg0" where the class does not tell
	typ   *types.Type
	place types.Place
	// pushed is where the interpreter has it: so many words behind the return address. Of those that take two it is the
	// one with the value.
	pushed int
}

// declared is the parameter as Java has it.
func (p *param) declared() string {
	name := p.typ.Name
	if name == "bool" {
		name = "boolean"
	}
	return name + " " + p.name
}

// Bounds of what is found.
const (
	mostMethods = 1 << 20
	mostName    = 1 << 10
)

// methods finds the methods that have names for which fits is true. It is asked for the longest beginning that all of
// them have.
func (v *machine) methods(prefix string, fits func(name, types string) bool) (found []*method) {
	v.m.Forget()
	v.classes(func(k uint64) bool {
		name := strings.ReplaceAll(v.name(k), "/", ".") + "."
		return strings.HasPrefix(name, prefix) || strings.HasPrefix(prefix, name)
	}, func(k uint64) bool {
		class := strings.ReplaceAll(v.name(k), "/", ".")
		list := v.m.Word(k + v.off[methodList])
		first, count := len(found), map[string]int{}
		for i := range min(v.m.Number(list, 4), maxEntries*4) {
			at := v.m.Word(list + 8 + 8*i)
			name, descriptor, ok := v.declared(at)
			list, result := parameters(descriptor)
			if !ok || result == "" {
				continue
			}
			name = class + "." + name
			count[name]++
			if len(name) > mostName || len(found) == mostMethods {
				continue
			}
			if texts := "(" + shortNames(list) + ")"; fits(name, texts) {
				m := &method{
					name: name, types: texts, result: result, at: at, constMethod: v.m.Word(at + v.off[constMethod]),
					klass: k, place: i, descriptor: descriptor,
				}
				v.look(m, class, list)
				found = append(found, m)
			}
		}
		for _, m := range found[first:] {
			m.several = count[m.name] > 1
		}
		return true
	})
	return found
}

// stays tells whether a class still has a method. One that an agent redefines gets other methods, of which that of the
// same name and parameters takes its place.
func (v *machine) stays(m *method) bool {
	list := v.m.Word(m.klass + v.off[methodList])
	at := func(i uint64) uint64 { return v.m.Word(list + 8 + 8*i) }
	if at(m.place) == m.at && v.m.Word(m.at+v.off[constMethod]) == m.constMethod {
		return true
	}
	for i := range min(v.m.Number(list, 4), maxEntries*4) {
		name, descriptor, ok := v.declared(at(i))
		if ok && descriptor == m.descriptor && name == m.name[strings.LastIndexByte(m.name, '.')+1:] {
			m.at, m.place, m.constMethod = at(i), i, v.m.Word(at(i)+v.off[constMethod])
			return true
		}
	}
	return false
}

// declared are the name and the descriptor of a method.
func (v *machine) declared(method uint64) (name, descriptor string, ok bool) {
	c := v.m.Word(method + v.off[constMethod])
	pool := v.m.Word(c + v.off[poolOf])
	if c == 0 || pool == 0 {
		return "", "", false
	}
	name = v.constant(pool, v.m.Number(c+v.off[nameIndex], 2))
	descriptor = v.constant(pool, v.m.Number(c+v.off[signatureIndex], 2))
	return name, descriptor, name != "" && descriptor != ""
}

// Flags of methods (JVM specification, 4.6).
const (
	isStatic   = 8
	isNative   = 0x100
	isAbstract = 0x400
)

// look fills in the parameters. Compiled code has them in registers and behind the return address (SharedRuntime::
// java_calling_convention): integers and references, this first, in six registers, floats in others, of those without a
// register each takes eight bytes of the stack.
func (v *machine) look(m *method, class string, list []string) {
	flags := v.m.Number(m.at+v.off[access], 4)
	static := flags&isStatic != 0
	switch {
	case flags&isAbstract != 0:
		m.noCode = "it has no code: name the methods of the classes that implement it"
	case flags&isNative != 0:
		m.noCode = "it is native: name the function that it calls"
	}
	names, slot := v.parameterNames(m.constMethod), 0
	if !static {
		list = append([]string{"L" + strings.ReplaceAll(class, ".", "/") + ";"}, list...)
	}
	ints, floats, stack := 0, 0, 0
	onStack := func() types.Place {
		stack++
		return types.Place{Kind: types.InMemory, Reg: v.arch.SP, Offset: int64(8 * stack)}
	}
	next := func() types.Place {
		if ints < len(v.arch.Java) {
			ints++
			return types.Place{Kind: types.InRegister, Reg: v.arch.Java[ints-1]}
		}
		return onStack()
	}
	const ofParameter = 64
	v.m.Spend(ofParameter * len(list))
	for i, d := range list {
		p := param{typ: v.typeOf(d)}
		const vectors = 8
		switch {
		case (d == "F" || d == "D") && floats < vectors:
			floats++
			p.place = types.Unknown("compiled code has it in a floating-point register, which cannot be read at a breakpoint")
		case d == "F" || d == "D":
			p.place = onStack()
		default:
			if p.place = next(); p.typ.Kind == types.Pointer && v.texts != "" {
				p.place = types.Unknown("%s", v.texts)
			}
		}
		switch name, ok := names[slot]; {
		case !static && i == 0:
			p.name = "this"
		case ok:
			p.name = name
		case static:
			p.name = "arg" + strconv.Itoa(i)
		default:
			p.name = "arg" + strconv.Itoa(i-1)
		}
		if slot++; d == "J" || d == "D" {
			slot++
		}
		p.pushed = -slot
		m.params = append(m.params, p)
	}
	for i := range m.params {
		m.params[i].pushed += slot + 1
	}
}

// typeOf is the type of values of a descriptor.
func (v *machine) typeOf(d string) *types.Type {
	t := v.typed[d]
	if t == nil {
		t = v.newType(d)
		v.typed[d] = t
	}
	return t
}

func (v *machine) newType(d string) *types.Type {
	named := func(t *types.Type, name string) *types.Type {
		return t.Derive(func(t *types.Type) { t.Name = name })
	}
	switch d {
	case "Z":
		return types.TCBool
	case "B":
		return named(types.IntOf(1, true), "byte")
	case "C":
		return types.JavaChar()
	case "S":
		return named(types.IntOf(2, true), "short")
	case "I":
		return named(types.IntOf(4, true), "int")
	case "J":
		return named(types.IntOf(8, true), "long")
	case "F":
		return &types.Type{Kind: types.Float, Name: "float", Size: 4, Align: 4}
	case "D":
		return &types.Type{Kind: types.Float, Name: "double", Size: 8, Align: 8}
	}
	return v.objectOf(d)
}

// objectOf is the type of references of a descriptor.
func (v *machine) objectOf(d string) *types.Type {
	var elem *types.Type
	if rest, ok := strings.CutPrefix(d, "["); ok {
		elem = v.typeOf(rest)
	}
	t := types.JavaObject(typeName(d), elem, &v.layout)
	if name, ok := strings.CutPrefix(d, "L"); ok && v.texts == "" && v.lists.known {
		t.Elem = v.classType(strings.TrimSuffix(name, ";"))
	}
	return t
}

// parameters takes a descriptor apart: "(Ljava/lang/String;I)V" has two. result is "" if it is none.
func parameters(d string) (list []string, result string) {
	d, ok := strings.CutPrefix(d, "(")
	for ok && d != "" && d[0] != ')' {
		n := len(d) - len(strings.TrimLeft(d, "["))
		switch {
		case n >= len(d):
			return nil, ""
		case d[n] == 'L':
			end := strings.IndexByte(d, ';')
			if end < 0 {
				return nil, ""
			}
			n = end
		case !strings.ContainsRune("ZBCSIJFD", rune(d[n])):
			return nil, ""
		}
		list, d = append(list, d[:n+1]), d[n+1:]
	}
	if !ok || len(d) < 2 || len(list) > 255 {
		return nil, ""
	}
	return list, d[1:]
}

// typeName is a descriptor's type as Java writes it: "java.lang.String[]".
func typeName(d string) string {
	dims := len(d) - len(strings.TrimLeft(d, "["))
	name := d[dims:]
	if len(name) == 1 {
		name = map[string]string{
			"Z": "boolean", "B": "byte", "C": "char", "S": "short", "I": "int", "J": "long", "F": "float", "D": "double",
			"V": "void",
		}[name]
	} else {
		name = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, "L"), ";"), "/", ".")
	}
	return name + strings.Repeat("[]", dims)
}

// shortNames are types without their packages.
func shortNames(list []string) string {
	short := make([]string, len(list))
	for i, d := range list {
		name := typeName(d)
		short[i] = name[strings.LastIndexByte(name, '.')+1:]
	}
	return strings.Join(short, ",")
}

// parameterNames are the names of the variables that a method begins with, by their slots. They are in tables at the
// end of what is constant of it (constMethod.hpp), if the class was compiled with them.
func (v *machine) parameterNames(c uint64) map[int]string {
	const (
		checked, variables, handlers, generic, params = 2, 4, 8, 16, 32
		annotations                                   = 0xf << 7 // of four kinds
	)
	size := 8 * v.m.Number(c+v.off[constSize], 4)
	flags := v.m.Number(c+v.off[constFlags], 2)
	if flags&variables == 0 || size > 1<<20 {
		return nil
	}
	text := make([]byte, size)
	if !v.m.Read(text, c) {
		return nil
	}
	end := len(text)
	for bit := flags & annotations >> 7; bit != 0; bit &= bit - 1 {
		end -= 8
	}
	take := func() int {
		if end -= 2; end < 0 {
			return 0
		}
		return int(binary.LittleEndian.Uint16(text[end:]))
	}
	if flags&generic != 0 {
		take()
	}
	// Each table has the number of its elements behind it.
	for _, table := range []struct{ bit, words uint64 }{{params, 2}, {checked, 1}, {handlers, 4}} {
		if flags&table.bit != 0 {
			end -= take() * 2 * int(table.words)
		}
	}
	names, pool := map[int]string{}, v.m.Word(c+v.off[poolOf])
	for range take() {
		const element = 12
		if end -= element; end < 0 {
			return nil
		}
		word := func(i int) int { return int(binary.LittleEndian.Uint16(text[end+2*i:])) }
		if first := word(0); first == 0 {
			names[word(5)] = v.constant(pool, uint64(word(2)))
		}
	}
	return names
}

// body looks where the code of a method is.
func (v *machine) body(m *method) (b runtimes.Body, err error) {
	v.m.Forget()
	if !v.stays(m) {
		return b, errGone
	}
	b.State = "interpreted"
	code := v.m.Word(m.at + v.off[compiled])
	if code == 0 {
		return b, nil
	}
	begin, end := v.text(code)
	entry := v.m.Word(code + v.off[verified])
	if v.offsets {
		entry = begin + v.m.Number(code+v.off[verified], 2)
	}
	const whole = 0xffffffff // it is not for a loop alone
	named := v.m.Word(code+v.off[methodOf]) == m.at
	if !named || entry < begin || entry >= end || v.m.Number(code+v.off[entryBCI], 4) != whole {
		return b, nil // it is just changing
	}
	b.Addr, b.State = entry, "compiled (C1)"
	if b.Rank = int(v.m.Number(code+v.off[level], 4)); b.Rank == 4 {
		b.State, b.Final = "compiled (C2)", true
	}
	return b, nil
}

// text is where the instructions of a piece of code are.
func (v *machine) text(code uint64) (begin, end uint64) {
	if v.offsets {
		return code + v.m.Number(code+v.off[codeBegin], 4), code + v.m.Number(code+v.off[codeEnd], 4)
	}
	return v.m.Word(code + v.off[codeBegin]), v.m.Word(code + v.off[codeEnd])
}
