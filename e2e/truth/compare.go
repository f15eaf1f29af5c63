package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// same tells whether a value is shown as what it is. Numbers are compared as such, whether they are shown as numbers or
// as text.
func same(t *typ, want value, got any) bool {
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
		m, ok := got.(map[string]any)
		c := want.(complex128)
		return ok && sameFloat(t.size/2, real(c), m["real"]) && sameFloat(t.size/2, imag(c), m["imag"])
	case text:
		if n, ok := got.(json.Number); ok && t.name == cString {
			return n.String() != "0" // within other values its address is shown
		}
		return got == want
	case structure:
		m, ok := got.(map[string]any)
		if !ok || len(m) != len(t.fields) {
			return false
		}
		for i, f := range t.fields {
			if v, ok := m[f.name]; !ok || !same(f.typ, want.([]value)[i], v) {
				return false
			}
		}
		return true
	case array, list:
		l, ok := got.([]any)
		w := want.([]value)
		if !ok && got != nil || len(l) != len(w) {
			return false
		}
		for i := range w {
			if !same(t.elem, w[i], l[i]) {
				return false
			}
		}
		return true
	case optional:
		if want == nil {
			return got == nil || got == "nullopt" || got == "None"
		}
		return same(t.elem, want.(choice).v, got)
	}
	return false
}

func integerOf(got any) (*big.Int, bool) {
	switch g := got.(type) {
	case json.Number:
		return new(big.Int).SetString(g.String(), 10)
	case string:
		return new(big.Int).SetString(g, 10)
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
