package codegen

import (
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/result"
)

// nameSize is the room for an error's, signal's or system call's name.
const nameSize = 64

// nameOf looks a number up in a table of texts that is loaded with the program.
func (g *gen) nameOf(dst memory, e *check.Call, t *types.Type) {
	b := g.b
	table, unknown := g.c.names(e.Fn.ID)
	name := "n_" + e.Fn.ID.String()
	g.c.nameTable(name, table)
	n := b.Copy(g.scalar(e.Args[0].Expr))
	if e.Fn.ID == builtin.StrError || e.Fn.ID == builtin.ErrnoName {
		g.magnitude(n)
	}
	done := b.Label()
	g.stringConst(dst, unknown, t.Size)
	b.IfImm(ir.GE, n, int64(len(table)), done)
	key := memory{space: onStack, off: b.Slot(8)}
	g.store(key, 4, n)
	p := b.Call(asm.FnMapLookupElem, ir.M(name), g.addr(key))
	b.IfImm(ir.EQ, p, 0, done)
	b.IfImm(ir.EQ, b.Load(1, p, 0), 0, done)
	g.copy(dst, memory{space: inReg, base: p}, min(t.Size, nameSize))
	b.Bind(done)
}

// names is the table of a builtin, and the text for numbers that are not in it.
func (c *compiler) names(id builtin.ID) (table []string, unknown string) {
	switch id {
	case builtin.StrError:
		table = make([]string, result.LastErrno+1)
		for i := range table {
			table[i] = result.Strerror(int64(i))
		}
		return table, "Unknown error"
	case builtin.ErrnoName:
		table = make([]string, result.LastErrno+1)
		for i := range table {
			table[i] = result.ErrnoName(i)
		}
		table[0] = "0"
		return table, "unknown"
	case builtin.SignalName:
		table = make([]string, 32)
		table[0] = "Unknown signal 0" // as strsignal(3) has it
		for i := 1; i < len(table); i++ {
			table[i] = capital(syscall.Signal(i).String())
		}
		return table, "N/A"
	}
	return c.opts.Arch.Syscalls(), "unknown"
}

func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-32) + s[1:]
	}
	return s
}

// nameTable adds the map of a table once.
func (c *compiler) nameTable(name string, table []string) {
	for _, m := range c.out.Maps {
		if m.Name == name {
			return
		}
	}
	m := &ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: nameSize, MaxEntries: uint32(len(table))}
	for i, s := range table {
		value := make([]byte, nameSize)
		copy(value[:nameSize-1], s)
		m.Contents = append(m.Contents, ebpf.MapKV{Key: uint32(i), Value: value})
	}
	c.out.Maps = append(c.out.Maps, m)
}
