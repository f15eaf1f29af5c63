package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// unreadable begins the reason for what is not shown as its address is not one of the program's memory.
const unreadable = "unreadable "

// same tells whether a value is shown as what it is. Numbers are compared as such, whether they are shown as numbers or
// as text.
func (in *image) same(t *typ, want value, got any) bool {
	if m, ok := got.(map[string]any); ok && len(m) == 1 && has(m, "unavailable") {
		at, unread := strings.CutPrefix(fmt.Sprint(m["unavailable"]), unreadable)
		return !unread || t.name != cString || in.has(json.Number(at), want.(string))
	}
	switch t.kind {
	case integer:
		n, ok := integerOf(got)
		return ok && n.Cmp(want.(*big.Int)) == 0
	case boolean:
		return got == want
	case enumeration:
		if s, ok := got.(string); ok {
			for i, name := range t.names {
				if s == name || strings.HasSuffix(s, "::"+name) || strings.HasSuffix(s, "."+name) {
					return want.(*big.Int).Int64() == t.numbers[i]
				}
			}
		}
		n, ok := integerOf(got)
		return ok && n.Cmp(want.(*big.Int)) == 0
	case character:
		return got == string(want.(rune)) || fmt.Sprint(got) == strconv.Itoa(int(want.(rune)))
	case floating:
		return sameFloat(t.size, want.(float64), got)
	case complexNumber:
		c := want.(complex128)
		if text, ok := got.(string); ok {
			shown, err := strconv.ParseComplex(text, 128)
			return err == nil && sameFloat(t.size/2, real(c), real(shown)) && sameFloat(t.size/2, imag(c), imag(shown))
		}
		m, ok := got.(map[string]any)
		return ok && sameFloat(t.size/2, real(c), m["real"]) && sameFloat(t.size/2, imag(c), m["imag"])
	case text:
		if n, ok := got.(json.Number); ok && t.name == cString {
			return in.has(n, want.(string)) // within other values its address is shown
		}
		if m, ok := got.(map[string]any); ok && t.unowned && has(m, "data_ptr") {
			n, ok := integerOf(m["length"]) // its bytes are not shown
			return ok && n.Int64() == int64(len(want.(string)))
		}
		return got == want
	case structure:
		m, ok := got.(map[string]any)
		if !ok || len(m) != len(t.fields) {
			return false
		}
		for i, f := range t.fields {
			if v, ok := m[f.name]; !ok || !in.same(f.typ, want.([]value)[i], v) {
				return false
			}
		}
		return true
	case tuple:
		l, ok := got.([]any)
		if !ok || len(l) != len(t.fields) {
			return false
		}
		for i, f := range t.fields {
			if !in.same(f.typ, want.([]value)[i], l[i]) {
				return false
			}
		}
		return true
	case array, list:
		if m, ok := got.(map[string]any); ok && t.unowned && has(m, "data_ptr") {
			n, ok := integerOf(m["length"]) // its elements are not shown
			return ok && n.Int64() == int64(len(want.([]value)))
		}
		l, ok := got.([]any)
		w := want.([]value)
		if n := len(l) - 1; n >= 0 && n < len(w) {
			if cut, ok := l[n].(string); ok && strings.HasSuffix(cut, fmt.Sprintf("… of %d", len(w))) {
				l, w = l[:n], w[:n] // a long list in a large value
			}
		}
		if !ok && got != nil || len(l) != len(w) {
			return false
		}
		for i := range w {
			if !in.same(t.elem, w[i], l[i]) {
				return false
			}
		}
		return true
	case optional:
		if want == nil {
			return got == nil || got == "nullopt" || got == "None"
		}
		if m, ok := got.(map[string]any); ok && strings.HasPrefix(t.name, "Option") {
			return len(m) == 1 && has(m, "Some") && in.same(t.elem, want.(choice).v, m["Some"])
		}
		return in.same(t.elem, want.(choice).v, got)
	case result:
		m, ok := got.(map[string]any)
		c := want.(choice)
		name, of := "Ok", t.elem
		if c.of == 1 {
			name, of = "Err", t.other
		}
		return ok && len(m) == 1 && has(m, name) && in.same(of, c.v, m[name])
	case tagged:
		c := want.(choice)
		one := &t.cases[c.of]
		if one.typ == nil {
			return got == one.name
		}
		m, ok := got.(map[string]any)
		return ok && len(m) == 1 && has(m, one.name) && in.same(one.typ, c.v, m[one.name])
	}
	return false
}

// sameRaw tells whether the words that are shown of a value without debug information are its own: all that is known
// there is their size. What is behind an address is not compared.
func sameRaw(t *typ, want value, got any) bool {
	m, ok := got.(map[string]any)
	if !ok {
		m = map[string]any{"w0": got}
	}
	words := wordsOf(t, want)
	for name, shown := range m {
		i, err := strconv.Atoi(strings.TrimPrefix(name, "w"))
		if _, told := shown.(map[string]any); told {
			continue // why it is unavailable
		}
		if err != nil || i >= len(words) || !words[i].is(shown) {
			return false
		}
	}
	return true
}

// rawWord is what a value consists of: a number without its sign, or a floating-point number of some bytes; neither:
// it is not known.
type rawWord struct {
	n    *big.Int
	f    float64
	size int
}

func (w *rawWord) is(shown any) bool {
	n, ok := integerOf(shown)
	return w.size > 0 && sameFloat(w.size, w.f, shown) || w.size == 0 && ok && (w.n == nil || w.n.Cmp(n) == 0)
}

// wordsOf are the words of a value of Go.
func wordsOf(t *typ, v value) (words []rawWord) {
	switch t.kind {
	case integer:
		n := v.(*big.Int)
		if n.Sign() < 0 {
			n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*t.size)))
		}
		return []rawWord{{n: n}}
	case boolean:
		if v.(bool) {
			return []rawWord{{n: big.NewInt(1)}}
		}
		return []rawWord{{n: new(big.Int)}}
	case text:
		return []rawWord{{}, {n: big.NewInt(int64(len(v.(string))))}}
	case list:
		n := big.NewInt(int64(len(v.([]value))))
		return []rawWord{{}, {n: n}, {n: n}}
	case floating:
		return []rawWord{{f: v.(float64), size: t.size}}
	case complexNumber:
		c := v.(complex128)
		return []rawWord{{f: real(c), size: t.size / 2}, {f: imag(c), size: t.size / 2}}
	case structure, array:
		for i, e := range v.([]value) {
			of := t.elem
			if t.kind == structure {
				of = t.fields[i].typ
			}
			words = append(words, wordsOf(of, e)...)
		}
		return words
	}
	return []rawWord{{}}
}

func integerOf(got any) (*big.Int, bool) {
	switch g := got.(type) {
	case json.Number:
		return new(big.Int).SetString(g.String(), 10)
	case string:
		return new(big.Int).SetString(g, 0)
	}
	return nil, false
}

func sameFloat(size int, want float64, got any) bool {
	s := fmt.Sprint(got)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	if size == 4 {
		return float32(f) == float32(want) && math.Signbit(f) == math.Signbit(want)
	}
	return f == want && math.Signbit(f) == math.Signbit(want)
}
