package uapi

import (
	"cmp"
	"strconv"
	"strings"
	"sync"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
)

// Call is a system call.
type Call struct {
	Name   string
	Params []Param
	Addr   bool // it returns an address
	Octal  bool // it returns a file's mode
	Vararg bool // of the C library: what comes behind the parameters depends on them
}

// Param is a parameter of a system call.
type Param struct {
	Name string
	Reg  int         // number of the register
	Type *types.Type // of the register; of a number with words an enum
	Read Read        // what is read where it points to
	Elem *types.Type // Struct, List: of what is there
	Size int         // bytes of what is counted; of a Struct its own
	Len  int         // Data, Address, List: the parameter that counts, -1: the result does. Of Data that is Late both do
	Late bool        // it is there when the call returns without an error
	When *types.When // it is given only then, by another register at 8 bytes for each; nil: always
}

// Read is what is read where a parameter points to.
type Read uint8

// Kinds of what is read.
const (
	Nothing Read = iota
	Text         // a C string
	Data         // bytes
	Address      // a struct sockaddr
	Struct       // one structure
	List         // structures, one behind the other
	Texts        // pointers to C strings, up to one that is null
)

// The kinds of parameters in calls, besides those of words:
//
//	d u       numbers of 32 bits, with a sign and without
//	l z x p   64 bits: with a sign, without, a bit set, an address
//	mode      the mode of a file, in octal
//	text      points to a C string
//	argv      points to pointers to C strings, the last of which is null
//	in(LEN)   points to as many bytes as parameter LEN tells
//	out       points to as many bytes as the call returns, at most what the next parameter tells
//	addr(LEN) points to a struct sockaddr of LEN bytes
//	NAME      points to the structure NAME
//	NAME[N]   points to N of them; N is a parameter, a number, or nothing: the result
//
// A star behind it says that the call writes it, and of addr that LEN points to the length; "/4" that so many bytes of
// it count, where the C library's function is given fewer than the system call.
//
// Behind that is when it is given, by the number of another parameter and a mask of that, if not all of it counts:
//
//	?1&0x40        some of these bits are set
//	?0/0x7f=1,2    it has one of these values
//	?0/0x7f!1,2    it has none of these values
//
// A name that begins with ^ is what the parameter in front of it means then; the one that is always a number is first.

// MaxParams is how many parameters a system call has at most.
const MaxParams = 6

// Of gives the system calls of a CPU by number; nil for numbers of which nothing is known.
func Of(a *abi.Arch) []*Call {
	names := a.Syscalls()
	out := make([]*Call, len(names))
	if len(names) == 0 {
		return out
	}
	t := tablesOf(a)
	for i, name := range names {
		if line, ok := t.calls[name]; ok {
			out[i] = t.call(name, line)
		}
	}
	return out
}

// Find is the system call of a name; nil: nothing is known of it.
func Find(a *abi.Arch, name string) *Call {
	t := tablesOf(a)
	if line, ok := t.calls[name]; ok {
		return t.call(name, line)
	}
	return nil
}

// Library is what a function of the C library that makes a system call is given, by its own prototype; nil: it is none
// of those that are known.
func Library(a *abi.Arch, name string) *Call {
	line, ok := ofLibrary()[name]
	if !ok {
		return nil
	}
	if other, same := strings.CutPrefix(line, "="); same || line == "" {
		return Find(a, cmp.Or(other, name))
	}
	line, more := strings.CutSuffix(line, " ...")
	c := tablesOf(a).call(name, line)
	c.Vararg = more
	return c
}

// Tracepoint is what the kernel calls a system call in the names of its tracepoints, where that is not what all others
// call it.
func Tracepoint(name string) string {
	if n, ok := tracepoints[name]; ok {
		return n
	}
	return name
}

// Named is the name of the system call that a tracepoint is about.
func Named(tracepoint string) string {
	for name, t := range tracepoints {
		if t == tracepoint {
			return name
		}
	}
	return tracepoint
}

var tracepoints = map[string]string{
	"stat": "newstat", "fstat": "newfstat", "lstat": "newlstat", "uname": "newuname", "sendfile": "sendfile64",
	"umount2": "umount",
}

// tables are the lines of a CPU by their first words.
type tables struct {
	arch         *abi.Arch
	calls, words map[string]string
	structs      map[string]*types.Type
	made         map[string]*types.Type
}

var lines = sync.OnceValues(func() (c, w map[string]string) { return byName(calls), byName(words) })

var ofLibrary = sync.OnceValue(func() map[string]string { return byName(library) })

func byName(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(text, "\n\t", " ")) {
		if name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name != "" {
			out[name] = rest
		}
	}
	return out
}

func tablesOf(a *abi.Arch) *tables {
	t := &tables{arch: a, made: map[string]*types.Type{}}
	all, words := lines()
	t.calls, t.words = all, map[string]string{}
	for k, v := range words {
		t.words[k] = v
	}
	for kind, own := range a.System.Words {
		t.words[kind] += " " + own
	}
	if a.System.TLSBeforeChild {
		t.calls = map[string]string{}
		for k, v := range all {
			t.calls[k] = v
		}
		t.calls["clone"] = strings.Replace(all["clone"], " "+tlsOfClone, "", 1)
		t.calls["clone"] = strings.Replace(t.calls["clone"], "child_tidptr", tlsOfClone+" child_tidptr", 1)
	}
	t.structures(a)
	return t
}

// structures are those that system calls are given, as the kernel lays them out for programs of 64 bits.
func (t *tables) structures(a *abi.Arch) {
	event := types.Field{Name: "data", Type: hex, Offset: 8}
	size := 16
	if a.System.PackedEvents {
		event.Offset, size = 4, 12
	}
	t.structs = map[string]*types.Type{
		"int":         types.TInt32,
		"timespec":    structure("timespec", 16, field("tv_sec", types.TInt64, 0), field("tv_nsec", types.TInt64, 8)),
		"rlimit64":    structure("rlimit64", 16, field("rlim_cur", limit, 0), field("rlim_max", limit, 8)),
		"epoll_event": structure("epoll_event", size, field("events", t.number("epoll"), 0), event),
		"pollfd": structure("pollfd", 8, field("fd", types.TInt32, 0), field("events", t.number("poll"), 4),
			field("revents", t.number("poll"), 6)),
		"filelock": structure("flock", 32, field("l_type", t.number("locktype"), 0),
			field("l_whence", t.number("lockwhence"), 2), field("l_start", types.TInt64, 8), field("l_len", types.TInt64, 16),
			field("l_pid", types.TInt32, 24)),
		"open_how": structure("open_how", 24, field("flags", t.number("open"), 0), field("mode", octal, 8),
			field("resolve", hex, 16)),
	}
}

func field(name string, t *types.Type, off int) types.Field {
	return types.Field{Name: name, Type: t, Offset: off}
}

func structure(name string, size int, fields ...types.Field) *types.Type {
	return &types.Type{Kind: types.Struct, Name: name, Size: size, Align: 4, Fields: fields}
}

// Numbers that are not written in decimal.
var (
	hex = &types.Type{Kind: types.Enum, Name: "hex", Size: 8, Align: 8, Source: &types.Source{Form: types.HexForm}}
	// Mode is that of a file.
	Mode = &types.Type{
		Kind: types.Enum, Name: "mode", Size: 4, Align: 4, Source: &types.Source{Form: types.OctalForm},
	}
	octal = &types.Type{Kind: types.Enum, Name: "mode", Size: 8, Align: 8, Source: &types.Source{Form: types.OctalForm}}
	limit = &types.Type{
		Kind: types.Enum, Name: "rlim", Size: 8, Align: 8,
		Enums: []types.Enumerator{{Name: "RLIM64_INFINITY", Value: -1, Mask: -1}},
	}
	address = types.PointerTo(types.TVoid, types.User)
)

// call makes one of its line.
func (t *tables) call(name, line string) *Call {
	c := &Call{Name: name, Addr: returnAddress[name], Octal: name == "umask"}
	words, reg := strings.Fields(line), 0
	for _, w := range words {
		n, kind, _ := strings.Cut(w, ":")
		p := Param{Name: strings.TrimPrefix(n, "^"), Reg: reg, Len: -1}
		if p.Name != n {
			p.Reg--
		} else {
			reg++
		}
		kind, _, _ = strings.Cut(kind, "?")
		kind, p.Late = strings.CutSuffix(kind, "*")
		kind, count, counted := cutCount(kind)
		for i, other := range words {
			if o, _, _ := strings.Cut(other, ":"); o == count {
				p.Len = i // no other meaning is in front of it: a test holds that
			}
		}
		p.Type = address
		switch kind {
		case "d":
			p.Type = types.TInt32
		case "u":
			p.Type = types.TUint32
		case "l":
			p.Type = types.TInt64
		case "z":
			p.Type = types.TUint64
		case "x":
			p.Type = hex
		case "p":
		case "mode":
			p.Type = t.mode()
		case "text":
			p.Read = Text
		case "argv":
			p.Read = Texts
		case "in":
			p.Read, p.Size = Data, 1
		case "out":
			p.Read, p.Size, p.Len, p.Late = Data, 1, reg, true
		case "addr":
			p.Read, p.Size = Address, 1
		default:
			elem := t.structs[kind]
			if elem == nil {
				kind, size, narrow := strings.Cut(kind, "/")
				p.Type = t.number(kind)
				if n, err := strconv.Atoi(size); narrow && err == nil {
					p.Type = Sized(p.Type, n)
				}
				break
			}
			p.Read, p.Elem, p.Size = Struct, elem, elem.Size
			if counted {
				p.Read, p.Late = List, true
			}
			if n, err := strconv.Atoi(count); err == nil { // an array of a known length
				p.Read, p.Elem = Struct, types.ArrayOf(elem, n)
				p.Size = p.Elem.Size
			}
		}
		c.Params = append(c.Params, p)
	}
	for i, w := range words {
		if _, when, ok := strings.Cut(w, "?"); ok {
			c.Params[i].When = c.when(when)
		}
	}
	return c
}

// Sized is a type of numbers with words for numbers of another size, without those words that are larger.
func Sized(t *types.Type, size int) *types.Type {
	return t.Derive(func(n *types.Type) {
		n.Size, n.Align, n.Enums = size, size, nil
		for _, e := range t.Enums {
			if size == 8 || e.Value>>(8*size) == 0 || e.Value>>(8*size-1) == -1 {
				n.Enums = append(n.Enums, e)
			}
		}
	})
}

// when reads when a parameter is given.
func (c *Call) when(text string) *types.When {
	bits := func(s string) uint64 {
		n, _ := strconv.ParseUint(s, 0, 64)
		return n
	}
	op := strings.IndexAny(text, "&=!")
	head, mask, masked := strings.Cut(text[:op], "/")
	reg := int(bits(head))
	w := &types.When{Offset: 8 * reg, Mask: ^uint64(0), Not: text[op] == '!'}
	for _, p := range c.Params {
		if p.Reg == reg {
			w.Size = p.Type.Size
		}
	}
	switch {
	case text[op] == '&':
		w.Mask = bits(text[op+1:])
		return w
	case masked:
		w.Mask = bits(mask)
	}
	for v := range strings.SplitSeq(text[op+1:], ",") {
		w.Values = append(w.Values, bits(v))
	}
	return w
}

// tlsOfClone is in another place on some CPUs.
const tlsOfClone = "tls:x?0&0x80000"

// cutCount takes the count off a kind: "in(len)" and "pollfd[nfds]".
func cutCount(kind string) (name, count string, ok bool) {
	i := strings.IndexAny(kind, "([")
	if i < 0 {
		return kind, "", false
	}
	return kind[:i], strings.Trim(kind[i:], "()[]"), true
}

// returnAddress are the system calls that return one.
var returnAddress = map[string]bool{"mmap": true, "brk": true, "mremap": true, "shmat": true}

// mode is the type of a file's mode: its kind, where there is one, and the rest in octal.
func (t *tables) mode() *types.Type {
	if m := t.made["mode"]; m != nil {
		return m
	}
	m := t.number("filetype").Derive(func(m *types.Type) { m.Name, m.Source.Form = "mode", types.OctalForm })
	t.made["mode"] = m
	return m
}

// number is the type of a number with words.
func (t *tables) number(kind string) *types.Type {
	if n := t.made[kind]; n != nil {
		return n
	}
	if kind == "syscall" {
		n := &types.Type{Kind: types.Enum, Name: kind, Size: 8, Align: 8, Signed: true}
		for i, name := range t.arch.Syscalls() {
			if name != "" {
				n.Enums = append(n.Enums, types.Enumerator{Name: "SYS_" + name, Value: int64(i), Mask: -1})
			}
		}
		t.made[kind] = n
		return n
	}
	list := strings.Fields(t.words[kind])
	if len(list) == 0 {
		return hex // a test holds that there is none
	}
	size, _ := strconv.Atoi(list[0])
	n := &types.Type{Kind: types.Enum, Name: kind, Size: size, Align: size, Signed: true}
	if kind == "ioctl" { // of others than these the bits mean something
		n.Source = &types.Source{Form: types.HexForm}
	}
	for _, w := range list[1:] {
		name, value, _ := strings.Cut(w, "=")
		value, mask, masked := strings.Cut(value, "/")
		e := types.Enumerator{Name: name}
		e.Value, _ = strconv.ParseInt(value, 0, 64)
		switch {
		case !masked:
			e.Mask = e.Value
		case mask == "all":
			e.Mask = -1
		default:
			e.Mask, _ = strconv.ParseInt(mask, 0, 64)
		}
		n.Enums = append(n.Enums, e)
	}
	t.made[kind] = n
	return n
}
