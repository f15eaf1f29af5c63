package code

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
)

// TestLandings: where a function goes on in another frame.
func TestLandings(t *testing.T) {
	for _, c := range []struct {
		text           string
		jumps, returns []uint64
		known          bool
	}{
		{"488b5df8 c9 c3 488b6d00 4889cc 59 ffe1 0f0b", []uint64{14}, nil, true}, // mov %rcx,%rsp; pop %rcx; jmp *%rcx
		{"c9 c3 4889cc c3 90 4889cc 90 c3", nil, []uint64{5, 11}, true},
		{"4883ec20 4883c420 c3", nil, nil, false}, // an ordinary frame
		{"c9 4889ec 5d c3", nil, nil, false},      // and one with a frame pointer
		{"4889cc 06 c3", nil, nil, false},         // no instruction
		{"4889cc 90", nil, nil, false},
		{"", nil, nil, false},
	} {
		text, err := hex.DecodeString(strings.ReplaceAll(c.text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		jumps, returns, known := Landings(abi.AMD64, text)
		if known != c.known || !slices.Equal(jumps, c.jumps) || !slices.Equal(returns, c.returns) {
			t.Errorf("%s: %d %d %t", c.text, jumps, returns, known)
		}
		if _, _, known := Landings(abi.ARM64, text); known {
			t.Errorf("%s is known for another CPU", c.text)
		}
	}
}

// TestCallsKernel: only instructions count, not what looks so within others.
func TestCallsKernel(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int // -1: there is none
	}{
		{"b83b000000 0f05 c3", 5},
		{"06 0f34", 1}, // behind no instruction
		{"90 cd80", 1},
		{"b80f050000 c3", -1}, // mov $0x50f,%eax
		{"0f05", 0},
		{"0f", -1},
		{"", -1},
	} {
		text, err := hex.DecodeString(strings.ReplaceAll(c.text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		at, found := CallsKernel(abi.AMD64, text)
		if found != (c.at >= 0) || found && at != c.at {
			t.Errorf("%s: %d %t", c.text, at, found)
		}
		if _, found := CallsKernel(abi.ARM64, text); !found {
			t.Errorf("%s is known to have none for another CPU", c.text)
		}
	}
}
