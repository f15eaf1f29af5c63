package e2e

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What any file may make trocar use, whatever it says of itself.
const (
	hostileMemory = 300 << 20
	hostileTime   = 2 * time.Second // of a CPU; more is told, much more fails
)

// TestHostileFiles: files of some megabytes, with counts, nesting and packed sections that no compiler makes, are
// looked at within bounds, and neither crash the tracer nor fail without a word.
func TestHostileFiles(t *testing.T) {
	trocar := tracerFor(t)
	for _, h := range hostileFiles() {
		t.Run(h.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hostile")
			if err := os.WriteFile(path, h.make(), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"list", "uprobe:" + path + ":*"},
				{"list", "-v", "uprobe:" + path + ":f*"},
				{"info", path},
				{"info", path, "--type", "struct s", "--vars", "f", "--lines", "a.c:1-9999"},
				{"--dry-run", "-d", "types", "-e", "uprobe:" + path + ":f { print(args); print(ustack) }"},
				{"--dry-run", "-d", "types", "-e", "uprobe:" + path + ":a.c:7 { @ = count() }"},
				{"--dry-run", "-d", "types", "-e", "uretprobe:" + path + ":f { print(retval) }"},
			} {
				// What is not bounded takes for ever.
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, trocar, args...)
				cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGABRT) } // shows where it is
				cmd.WaitDelay = time.Second
				var text bytes.Buffer
				cmd.Stdout, cmd.Stderr = &text, &text
				err := cmd.Run()
				if cmd.ProcessState == nil {
					t.Fatalf("it was not started: %v", err)
				}
				used, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				memory := used.Maxrss << 10
				cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				t.Logf("%3d MB %6.2f s %4d KB: %s", memory>>20, cpu.Seconds(), text.Len()>>10,
					strings.ReplaceAll(strings.Join(args, " "), path, "FILE"))
				var exit *exec.ExitError
				refused := errors.As(err, &exit) && exit.ExitCode() >= 1 && exit.ExitCode() <= 4
				if err != nil && !refused || bytes.Contains(text.Bytes(), []byte("goroutine ")) {
					t.Errorf("%v: %v\n%.2000s", args, err, text.String())
				}
				if err != nil && text.Len() == 0 {
					t.Errorf("%v: %v without a word", args, err)
				}
				if memory > hostileMemory || cpu > 10*hostileTime {
					t.Errorf("%v: %d MB, %v", args, memory>>20, cpu)
				}
			}
		})
	}
}

// hostileFile makes a file of one kind.
type hostileFile struct {
	name string
	make func() []byte
}

// part is a section of a file that is made.
type part struct {
	name   string
	typ    uint32
	flags  uint64
	link   uint32
	info   uint32
	ent    uint64
	addr   uint64
	data   []byte
	offset uint64 // made when the file is
}

const (
	hostileBase = 0x400000
	hostileCode = hostileBase + 0x1000 // of f
)

// hostileELF is a program with a function f, and what is given as sections behind its symbols.
func hostileELF(parts ...part) []byte {
	le := binary.LittleEndian
	text := []byte{0x55, 0x48, 0x89, 0xe5, 0x89, 0xf8, 0x5d, 0xc3} // push, mov, mov, pop, ret
	var sym []byte
	sym = append(sym, make([]byte, 24)...)
	sym = le.AppendUint32(sym, 1)
	sym = append(sym, 0x12, 0) // a global function
	sym = le.AppendUint16(sym, 1)
	sym = le.AppendUint64(sym, hostileCode)
	sym = le.AppendUint64(sym, uint64(len(text)))
	all := []part{
		{},
		{name: ".text", typ: 1, flags: 6, addr: hostileCode, data: text},
		{name: ".symtab", typ: 2, link: 3, info: 1, ent: 24, data: sym},
		{name: ".strtab", typ: 3, data: []byte("\x00f\x00")},
	}
	for _, p := range parts {
		replaced := false
		for i := range all {
			if all[i].name != "" && all[i].name == p.name && p.name != ".debug_many" {
				all[i].data, all[i].flags, replaced = p.data, all[i].flags|p.flags, true
			}
		}
		if !replaced {
			all = append(all, p)
		}
	}
	all = append(all, part{name: ".shstrtab", typ: 3})
	names := []byte{0}
	at := make([]uint32, len(all))
	seen := map[string]uint32{}
	for i := range all {
		name := all[i].name
		if name == "" {
			continue
		}
		if _, ok := seen[name]; !ok {
			seen[name] = uint32(len(names))
			names = append(append(names, name...), 0)
		}
		at[i] = seen[name]
	}
	all[len(all)-1].data = names
	out := make([]byte, 0x1000)
	for i := range all {
		p := &all[i]
		if p.offset == 0 {
			p.offset = uint64(len(out))
			out = append(out, p.data...)
		}
	}
	shoff := len(out)
	for i, p := range all {
		out = le.AppendUint32(out, at[i])
		out = le.AppendUint32(out, p.typ)
		size := uint64(len(p.data))
		if p.typ == 0 {
			p.offset = 0
		}
		for _, v := range []uint64{p.flags, p.addr, p.offset, size} {
			out = le.AppendUint64(out, v)
		}
		out = le.AppendUint32(out, p.link)
		out = le.AppendUint32(out, p.info)
		out = le.AppendUint64(out, 1)
		out = le.AppendUint64(out, p.ent)
	}
	copy(out, "\x7fELF\x02\x01\x01")
	le.PutUint16(out[16:], 2)
	le.PutUint16(out[18:], 62)
	le.PutUint32(out[20:], 1)
	le.PutUint64(out[24:], hostileCode)
	le.PutUint64(out[32:], 64)
	le.PutUint64(out[40:], uint64(shoff))
	le.PutUint16(out[52:], 64)
	le.PutUint16(out[54:], 56)
	le.PutUint16(out[56:], 1)
	le.PutUint16(out[58:], 64)
	le.PutUint16(out[60:], uint16(len(all)))
	le.PutUint16(out[62:], uint16(len(all)-1))
	ph := out[64:]
	le.PutUint32(ph, 1)
	le.PutUint32(ph[4:], 5)
	le.PutUint64(ph[8:], 0)
	le.PutUint64(ph[16:], hostileBase)
	le.PutUint64(ph[24:], hostileBase)
	le.PutUint64(ph[32:], uint64(shoff))
	le.PutUint64(ph[40:], uint64(shoff))
	le.PutUint64(ph[48:], 0x1000)
	return out
}

// packed is a section compressed by zlib of a head and n bytes of a pattern that comes again and again, which is made
// so long that its ratio is believed. It is never whole in memory: the kernel counts that against what is run later.
func packed(name string, start, pattern []byte, n int) part {
	size := len(start) + n/len(pattern)*len(pattern)
	var b bytes.Buffer
	le := binary.LittleEndian
	var head []byte
	head = le.AppendUint32(head, 1)
	head = le.AppendUint32(head, 0)
	head = le.AppendUint64(head, uint64(size))
	head = le.AppendUint64(head, 1)
	b.Write(head)
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	z.Write(start)
	block := bytes.Repeat(pattern, max(1, 1<<16/len(pattern)))
	for left := size - len(start); left > 0; left -= len(block) {
		z.Write(block[:min(left, len(block))])
	}
	z.Close()
	if least := size/100 + 100; b.Len() < least {
		b.Write(make([]byte, least-b.Len()))
	}
	return part{name: name, typ: 1, flags: 0x800, data: b.Bytes()}
}

func debugPart(name string, data []byte) part { return part{name: name, typ: 1, data: data} }

// uleb appends numbers of variable length.
func uleb(b []byte, values ...uint64) []byte {
	for _, v := range values {
		for ; v >= 0x80; v >>= 7 {
			b = append(b, byte(v)|0x80)
		}
		b = append(b, byte(v))
	}
	return b
}

// abbrevs are declarations, numbered from 1: tag, children, pairs of attribute and form.
func abbrevs(decls ...[]uint64) []byte {
	var b []byte
	for i, d := range decls {
		b = uleb(b, uint64(i+1), d[0], d[1])
		b = uleb(b, d[2:]...)
		b = append(b, 0, 0)
	}
	return append(b, 0)
}

// unit is a unit of DWARF 4 of entries.
func unit(entries []byte) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, uint32(len(entries)+7))
	b = binary.LittleEndian.AppendUint16(b, 4)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, 8)
	return append(b, entries...)
}

// unitHead is the length of a unit's header.
const unitHead = 11
