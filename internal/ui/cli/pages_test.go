package cli

import (
	"reflect"
	"testing"
)

// variable is in memory that is written to.
var variable = [...]int{1, 2, 3}

func TestGiveBack(t *testing.T) {
	own := ownSegments()
	has := func(address uintptr) bool {
		for _, s := range own {
			if a := uint64(address); s.address <= a && a < s.address+s.size {
				return true
			}
		}
		return false
	}
	if code := reflect.ValueOf(TestGiveBack).Pointer(); !has(code) {
		t.Errorf("the code at %#x is in none of %x", code, own)
	}
	if data := reflect.ValueOf(&variable).Pointer(); has(data) {
		t.Errorf("the variable at %#x is in one of %x", data, own)
	}
	variable[1] = 5
	for range 100 {
		own.giveBack()
	}
	if variable != [...]int{1, 5, 3} {
		t.Errorf("the variable has changed: %v", variable)
	}
}
