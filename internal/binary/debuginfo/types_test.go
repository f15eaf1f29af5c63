package debuginfo

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

// TestTypesAgainstStandardLibrary compares the layout of every struct and union with what debug/dwarf reads.
func TestTypesAgainstStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		atLeast int
	}{
		{plainO0, 5},
		{plainO2v4, 5},
		{plainO2v2, 5},
		{clangO0, 5},
		{bookO2, 120},
		{clbookO2, 100},
		{rustO0, 300},
		{goProgram, 700},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			path := build(t, c.command)
			in := open(t, path)
			e, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			d, err := e.DWARF()
			if err != nil {
				t.Fatal(err)
			}
			n, bad := 0, 0
			r := d.Reader()
			for {
				entry, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if entry == nil {
					break
				}
				switch entry.Tag {
				case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
				default:
					continue
				}
				if entry.Val(dwarf.AttrDeclaration) == true {
					continue
				}
				std, err := d.Type(entry.Offset)
				if err != nil {
					continue
				}
				die, ok := in.main.unitAt(secInfo, uint64(entry.Offset)).at(uint64(entry.Offset))
				if !ok {
					t.Fatalf("no entry at %#x", entry.Offset)
				}
				in.mu.Lock()
				ours := in.conv.get(die, true, 0)
				in.mu.Unlock()
				n++
				got, want := ourLayout(ours), stdLayout(std, staticMembers(d, entry.Offset))
				if got != want {
					if bad++; bad < 6 {
						t.Errorf("%s at %#x:\n%s\ndebug/dwarf says\n%s", ours.Name, entry.Offset, got, want)
					}
				}
			}
			t.Logf("%d types compared", n)
			if n < c.atLeast {
				t.Errorf("only %d types were compared", n)
			}
		})
	}
}

func ourLayout(t *types.Type) string {
	var b strings.Builder
	fmt.Fprintf(&b, "size %d", t.Size)
	for _, e := range t.Enums {
		fmt.Fprintf(&b, "\n%s = %d", e.Name, e.Value)
	}
	for _, f := range t.Fields {
		if f.Base {
			continue
		}
		size := fmt.Sprint(f.Type.Size)
		if f.Type.Form() == types.MethodPointerForm || strings.HasSuffix(f.Type.Name, "::*") {
			size = "of a pointer to a member"
		}
		fmt.Fprintf(&b, "\n%s bits %d size %s at %d", f.Name, f.BitSize, size, 8*f.Offset+f.BitOffset)
	}
	return b.String()
}

// staticMembers names the members of a class that are no part of its objects, which debug/dwarf lists with the others.
func staticMembers(d *dwarf.Data, off dwarf.Offset) map[string]bool {
	static := make(map[string]bool)
	r := d.Reader()
	r.Seek(off)
	if e, err := r.Next(); err != nil || !e.Children {
		return nil
	}
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return static
		}
		if e.Tag == dwarf.TagMember && e.Val(dwarf.AttrExternal) == true {
			static[e.Val(dwarf.AttrName).(string)] = true
		}
		r.SkipChildren()
	}
}

// sizeOf is a type's size, also where debug/dwarf doesn't know it: of references and of pointers to members.
func sizeOf(t dwarf.Type) int64 {
	switch t := t.(type) {
	case *dwarf.ArrayType:
		if t.Count < 0 {
			return 0
		}
	case *dwarf.UnsupportedType:
		switch t.Tag {
		case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
			return 8
		case dwarf.TagPtrToMemberType:
			return -2
		}
	}
	return t.Size()
}

func stdLayout(t dwarf.Type, static map[string]bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "size %d", max(t.Size(), 0))
	switch t := t.(type) {
	case *dwarf.EnumType:
		for _, e := range t.Val {
			fmt.Fprintf(&b, "\n%s = %d", e.Name, e.Val)
		}
	case *dwarf.StructType:
		for _, f := range t.Field {
			if static[f.Name] {
				continue
			}
			at := 8 * f.ByteOffset
			if f.BitSize != 0 {
				if f.DataBitOffset != 0 || f.ByteSize == 0 {
					at = f.DataBitOffset
				} else {
					at += 8*f.ByteSize - f.BitOffset - f.BitSize
				}
			}
			size := fmt.Sprint(sizeOf(f.Type))
			if size == "-1" {
				size = "0"
			}
			if size == "-2" {
				size = "of a pointer to a member"
			}
			fmt.Fprintf(&b, "\n%s bits %d size %s at %d", f.Name, f.BitSize, size, at)
		}
	}
	return b.String()
}
