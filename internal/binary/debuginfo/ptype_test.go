package debuginfo

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/need"
)

// A member as gdb's "ptype /o" shows it.
type ptypeMember struct {
	at, size int // in bits
	bits     bool
	name     string
	inner    []ptypeMember
	unnamed  bool // its type has no name
	array    bool
}

var (
	ptypeLine = regexp.MustCompile(`^/\* +(?:(\d+)(?:: ?(\d+))? +\|)? +(\d+) \*/ +(.*)$`)
	ptypeHole = regexp.MustCompile(`^/\* XXX +(\d+)-(bit|byte) +(hole|padding) +\*/`)
	ptypeBits = regexp.MustCompile(` : (\d+);`)
	// How gdb writes a vector.
	ptypeVector = regexp.MustCompile(` __attribute__ .*;$`)
	ptypeName   = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)(?:\)\([^)]*\))?(?:\[\d*\])*(?: : \d+)?[;,]$`)
)

// readPtype reads the members of a type, and the unused bits among them.
func readPtype(lines []string) (members []ptypeMember, unused int) {
	type level struct {
		members []ptypeMember
		head    ptypeMember
	}
	stack := []level{{}}
	for _, line := range lines[1:] {
		top := &stack[len(stack)-1]
		if m := ptypeHole.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			if m[2] == "byte" {
				n *= 8
			}
			if len(stack) == 1 {
				unused += n
			}
			continue
		}
		m := ptypeLine.FindStringSubmatch(line)
		if m == nil {
			if text := strings.TrimSpace(line); strings.HasPrefix(text, "}") && len(stack) > 1 {
				one := top.head
				one.inner = top.members
				one.array = strings.Contains(text, "[")
				if n := ptypeName.FindStringSubmatch(text); n != nil {
					one.name = n[1]
				}
				stack = stack[:len(stack)-1]
				above := &stack[len(stack)-1]
				above.members = append(above.members, one)
			}
			continue
		}
		one := ptypeMember{}
		off, _ := strconv.Atoi(m[1])
		bit, _ := strconv.Atoi(m[2])
		size, _ := strconv.Atoi(m[3])
		one.at, one.size = 8*off+bit, 8*size
		if m[1] == "" { // of a union
			one.at = top.head.at
		}
		text := ptypeVector.ReplaceAllString(m[4], ";")
		if b := ptypeBits.FindStringSubmatch(text); b != nil {
			one.size, _ = strconv.Atoi(b[1])
			one.bits = true
		}
		if strings.HasSuffix(text, "{") {
			word, _, _ := strings.Cut(strings.TrimSuffix(text, " {"), " : ")
			one.unnamed = word == "struct" || word == "union" || word == "class"
			stack = append(stack, level{head: one})
			continue
		}
		if n := ptypeName.FindStringSubmatch(text); n != nil {
			one.name = n[1]
		}
		if strings.HasSuffix(text, ",") { // Rust, where members of tuples have no names
			name, _, named := strings.Cut(text, ": ")
			if one.name = name; !named {
				one.name = ""
			}
		}
		top.members = append(top.members, one)
	}
	return stack[0].members, unused
}

// flat lists members, those of types without a name behind the member that has it.
func flat(members []ptypeMember) (out []string) {
	for _, m := range members {
		out = append(out, fmt.Sprintf("%d+%d %s", m.at, m.size, m.name))
		if m.unnamed && !m.array {
			out = append(out, flat(m.inner)...)
		}
	}
	return out
}

// ours lists members as flat does, from the lines that are shown.
func ours(t *types.Type) (members []string, unused int, plain bool) {
	plain = true
	var nested []int // members whose types are open
	for i, l := range types.Layout(t) {
		if len(nested) == 0 {
			unused += 8*l.Gap + l.GapBits
		}
		text := strings.TrimSpace(l.Text)
		switch {
		case i == 0 || text == "":
		case strings.HasSuffix(text, "// base class"), strings.Contains(text, "_vptr"), strings.HasPrefix(text, "virtual "):
			plain = false // gdb does not show them, and takes them for holes
		case strings.HasPrefix(text, "}"):
			if n := len(nested); n > 0 {
				if name := ptypeName.FindStringSubmatch(text); name != nil {
					members[nested[n-1]] += name[1]
				}
				nested = nested[:n-1]
			}
		case l.Offset >= 0:
			at, size := 8*l.Offset+l.Bit, 8*l.Size
			if l.Bits {
				size = l.Size
			}
			name := ""
			if n := ptypeName.FindStringSubmatch(text); n != nil {
				name = n[1]
			}
			switch t.Lang() {
			case types.Rust:
				if name, _, _ = strings.Cut(text, ": "); strings.HasPrefix(name, "__") {
					name = ""
				}
			case types.Go:
				var named bool
				if name, _, named = strings.Cut(text, " "); !named { // embedded
					name = name[strings.LastIndexAny(name, ".*")+1:]
				}
			}
			if strings.HasSuffix(text, "{") {
				name = ""
				nested = append(nested, len(members))
			}
			members = append(members, fmt.Sprintf("%d+%d %s", at, size, name))
		}
	}
	return members, unused, plain
}

// TestLayoutsAgainstGDB compares the layouts that are shown with those of gdb's "ptype /o", member by member.
func TestLayoutsAgainstGDB(t *testing.T) {
	t.Parallel()
	need.Tool(t, "gdb")
	for _, c := range []struct {
		name, command, language string
		atLeast                 int
	}{
		{"C", "gcc -g -o $OUT $SRC/layouts.c", "c", 12},
		{"C DWARF 4", "gcc -g -gdwarf-4 -gstrict-dwarf -o $OUT $SRC/layouts.c", "c", 12},
		{"C clang", "clang -g -o $OUT $SRC/layouts.c", "c", 12},
		{"C++", bookO2, "c++", 15},
		{"C++ clang", clbookO2, "c++", 15},
		{"Rust", rustO0, "rust", 15},
		{"Go", goProgram, "c", 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := build(t, c.command)
			in := open(t, path)
			names := structNames(in, 20*c.atLeast)
			args := []string{"-nx", "-batch", "-iex", "set auto-load no", "-ex", "set width 0", "-ex", "set language " +
				c.language}
			for _, n := range names {
				args = append(args, "-ex", "echo \\n=== "+n+"\\n", "-ex", "ptype /o "+asked(n, c.language))
			}
			// It fails if the last command does.
			out, _ := exec.Command("gdb", append(args, path)...).Output()
			compared, left := 0, 0
			for _, part := range strings.Split(string(out), "\n=== ")[1:] {
				name, rest, _ := strings.Cut(part, "\n")
				lines := strings.Split(strings.TrimSpace(rest), "\n")
				// It says "type = struct" in place of "offset" where the name is a typedef, as in Go.
				if !strings.HasPrefix(lines[0], "/* offset") && !strings.HasPrefix(lines[0], "type = struct ") {
					left++ // gdb has no name for it, or it is no struct
					continue
				}
				list, err := in.TypesNamed(name)
				if err != nil || len(list) != 1 || list[0].Source.Variants != nil || hasFunc(list[0]) {
					left++ // gdb shows one of several; enums of Rust are not laid out alike
					continue
				}
				want, unused := readPtype(lines)
				got, gaps, plain := ours(list[0])
				compared++
				if w := flat(want); !slices.Equal(got, w) {
					t.Errorf("%s: %q\ngdb: %q\n%s", name, got, w, rest)
				}
				if plain && gaps != unused && c.language != "rust" {
					t.Errorf("%s: %d unused bits, gdb says %d\n%s", name, gaps, unused, rest)
				}
			}
			t.Logf("%d types compared, %d not", compared, left)
			if compared < c.atLeast {
				t.Errorf("only %d types were compared", compared)
			}
		})
	}
}

// hasFunc tells a struct with functions of Go: they are pointers, but gdb tells the size of what they lead to.
func hasFunc(t *types.Type) bool {
	return slices.ContainsFunc(t.Fields, func(f types.Field) bool {
		return f.Type.Source != nil && f.Type.Source.Form ==
			types.ClosureForm
	})
}

// asked is how gdb takes a type's name.
func asked(name, language string) string {
	switch {
	case language == "c" && !strings.ContainsAny(name, "./"):
		return "struct " + name
	case language == "rust":
		return name
	}
	return "'" + name + "'"
}

// structNames lists the structs of a program that have names, by their qualified names.
func structNames(in *Info, limit int) (names []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	seen := map[string]bool{}
	for _, u := range in.main.unitList() {
		t, err := u.table()
		if err != nil || u.load().err != nil {
			continue
		}
		w := walker{u: u, t: t, pos: u.first}
		for {
			ab := w.next()
			if w.bad {
				break
			}
			if ab == nil || ab.tag != tagStructureType && ab.tag != tagClassType {
				continue
			}
			d := new(die)
			d.at(&w, ab)
			if d.fullName() == "" || d.flag(atDeclaration) {
				continue
			}
			if n := d.qualified(); !seen[n] && len(names) < limit {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	return names
}
