package jvm

import (
	"errors"
	"fmt"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/runtimes/remote"
)

// HotSpot describes its own structures for debuggers: tables that libjvm.so exports (gHotSpotVMStructs and others,
// vmStructs.hpp) name the fields of its classes with their offsets or addresses, so that nothing has to be known of a
// version. All is read from the memory of the process, which goes on running: what is read need not fit together.

// maxEntries bounds the tables.
const (
	maxEntries = 1 << 14
	mostStride = 1 << 12
)

// described is what the virtual machine says of itself.
type described struct {
	fields    map[string]uint64 // "Type::field": its offset, of static ones the address
	sizes     map[string]uint64 // of types
	constants map[string]uint64
	missing   string // the first that was asked for in vain
}

var errDescribed = errors.New("this virtual machine does not describe itself in the usual way")

// describe reads the tables.
func describe(m *remote.Memory, lib *objfile.File, bias uint64) (*described, error) {
	d := &described{fields: map[string]uint64{}, sizes: map[string]uint64{}, constants: map[string]uint64{}}
	exported := func(name string) uint64 {
		if addr, _, ok := lib.Symbol("gHotSpotVM" + name); ok {
			return m.Word(addr + bias)
		}
		return 0
	}
	table := func(name, entry string, columns []string, yield func(at []uint64)) error {
		start, stride := exported(name), exported(entry+"EntryArrayStride")
		at, offsets := make([]uint64, len(columns)), make([]uint64, len(columns))
		for i, c := range columns {
			offsets[i] = exported(entry + "Entry" + c + "Offset")
		}
		if start == 0 || stride == 0 || stride > mostStride {
			return errDescribed
		}
		for range maxEntries {
			for i := range at {
				at[i] = start + offsets[i]
			}
			if m.Word(at[0]) == 0 {
				return nil
			}
			yield(at)
			start += stride
		}
		return errDescribed
	}
	text := func(at uint64) string { return m.Text(m.Word(at)) }
	err := errors.Join(
		table("Structs", "Struct", []string{"TypeName", "FieldName", "IsStatic", "Offset", "Address"}, func(at []uint64) {
			value := at[3]
			if m.Number(at[2], 4) != 0 {
				value = at[4]
			}
			d.fields[text(at[0])+"::"+text(at[1])] = m.Word(value)
		}),
		table("Types", "Type", []string{"TypeName", "Size"}, func(at []uint64) { d.sizes[text(at[0])] = m.Word(at[1]) }),
		table("IntConstants", "IntConstant", []string{"Name", "Value"}, func(at []uint64) {
			d.constants[text(at[0])] = m.Number(at[1], 4)
		}),
	)
	return d, err
}

// field is the offset of a field, or the address of a static one, by the first of several names that is described.
func (d *described) field(names string) uint64 {
	for name := range strings.SplitSeq(names, ",") {
		if at, ok := d.fields[name]; ok {
			return at
		}
	}
	if d.missing == "" {
		d.missing = names
	}
	return 0
}

func (d *described) size(name string) uint64 {
	n := d.sizes[name]
	if n == 0 && d.missing == "" {
		d.missing = name
	}
	return n
}

func (d *described) err() error {
	if d.missing != "" {
		return fmt.Errorf("this version's virtual machine does not describe %s", d.missing)
	}
	return nil
}
