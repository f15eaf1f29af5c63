package main

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
)

// kind is what a type of the generated programs is.
type kind uint8

// Kinds. Not each language has all of them.
const (
	void kind = iota
	integer
	boolean
	character // Rust's char
	floating
	complexNumber // C, Go
	enumeration   // with numbers for names
	text          // const char *, std::string, String, &str, string
	structure
	tuple    // Rust
	array    // within structures only, in C and C++
	list     // std::vector, Vec, slices
	optional // std::optional, Option
	result   // Rust's Result
	tagged   // Rust's enum with members
)

// typ is a type of a generated program.
type typ struct {
	kind   kind
	size   int // of numbers, in bytes
	signed bool
	name   string // of the language's own, or of what is declared
	fields []field
	elem   *typ
	other  *typ // the error of a result
	n      int  // elements of an array
	// names are those of an enum's values, by which numbers is sorted.
	names   []string
	numbers []int64
	cases   []variant
	attr    string // of a declaration in C
	unowned bool   // text or list: of Rust, borrowed
}

type field struct {
	name string
	typ  *typ
	bits int // of a bit field
}

// variant is one alternative of a tagged enum.
type variant struct {
	name string
	typ  *typ // nil: it has no member
}

// value is a value of a type: *big.Int, bool, rune, float64, complex128, string, []value (of members and elements), nil
// (of an optional), a choice, or of an optional and a void result what is in there.
type value any

// choice is a value of a tagged enum or a result.
type choice struct {
	of int
	v  value
}

// random makes a value of the type.
func (t *typ) random(r *rand.Rand) value {
	switch t.kind {
	case void:
		return nil
	case integer:
		return randomInt(r, 8*t.size, t.signed)
	case boolean:
		return r.IntN(2) == 1
	case character:
		return []rune{'a', 'Z', '0', ' ', 'ß', '€', '翿', '😀'}[r.IntN(8)]
	case floating:
		return randomFloat(r, t.size)
	case complexNumber:
		return complex(randomFloat(r, t.size/2), randomFloat(r, t.size/2))
	case enumeration:
		return big.NewInt(t.numbers[r.IntN(len(t.numbers))])
	case text:
		return randomText(r)
	case structure, tuple:
		list := make([]value, len(t.fields))
		for i, f := range t.fields {
			if f.bits > 0 {
				list[i] = randomInt(r, f.bits, f.typ.signed)
			} else {
				list[i] = f.typ.random(r)
			}
		}
		return list
	case array, list:
		n := t.n
		if t.kind == list {
			n = r.IntN(4)
		}
		values := make([]value, n)
		for i := range values {
			values[i] = t.elem.random(r)
		}
		return values
	case optional:
		if r.IntN(3) == 0 {
			return nil
		}
		return choice{1, t.elem.random(r)}
	case result:
		if r.IntN(2) == 0 {
			return choice{1, t.other.random(r)}
		}
		return choice{0, t.elem.random(r)}
	case tagged:
		c := r.IntN(len(t.cases))
		if t.cases[c].typ == nil {
			return choice{of: c}
		}
		return choice{c, t.cases[c].typ.random(r)}
	}
	panic(fmt.Sprintf("no values of kind %d", t.kind))
}

func randomInt(r *rand.Rand, bits int, signed bool) *big.Int {
	limit := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	n := new(big.Int)
	switch r.IntN(6) {
	case 0: // small
		n.SetInt64(int64(r.IntN(3)))
	case 1: // all bits set: -1, or the largest
		n.Sub(limit, big.NewInt(1))
	case 2: // the sign alone
		n.Rsh(limit, 1)
	default:
		n.SetUint64(r.Uint64())
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(r.Uint64()))
	}
	n.Mod(n, limit)
	if signed && n.Bit(bits-1) == 1 {
		n.Sub(n, limit)
	}
	return n
}

func randomFloat(r *rand.Rand, size int) float64 {
	f := 0.0
	switch r.IntN(5) {
	case 0:
		f = float64(r.IntN(100))
	case 1:
		f = -float64(r.IntN(1000)) / 8
	default:
		f = math.Ldexp(r.Float64()-0.5, r.IntN(60)-30)
	}
	if size == 4 {
		f = float64(float32(f))
	}
	return f
}

func randomText(r *rand.Rand) string {
	words := []string{
		"", "a", "get", "x y", "ünï", "€uro", "quote\"d", "back\\slash", "line\nfeed", "tab\there", "%s %d", "{a,b}", "nil",
		"None", "12",
	}
	s := words[r.IntN(len(words))]
	if r.IntN(4) == 0 {
		s += strings.Repeat("0123456789", r.IntN(5))
	}
	return s
}

// leaf is the way to a number in a value: what generated code looks at.
type leaf struct {
	path string // behind the name of the variable, as all languages write it: ".a.b"
	typ  *typ
}

// leaves are the numbers in a type, as far as members lead to them.
func (t *typ) leaves() (list []leaf) {
	switch t.kind {
	case integer, boolean, floating, enumeration, character:
		return []leaf{{"", t}}
	case structure, tuple:
		for _, f := range t.fields {
			for _, l := range f.typ.leaves() {
				list = append(list, leaf{"." + f.name + l.path, l.typ})
			}
		}
	case array:
		for i := range t.n {
			for _, l := range t.elem.leaves() {
				list = append(list, leaf{fmt.Sprintf("[%d]%s", i, l.path), l.typ})
			}
		}
	}
	return list
}
