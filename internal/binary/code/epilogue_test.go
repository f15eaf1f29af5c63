package code

import (
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
)

func TestEpilogues(t *testing.T) {
	const sp, bp = 7, 6
	tests := []struct {
		name, body string
		want       []Epilogue // nil: refused
	}{
		{"no frame", "89f8 c3", []Epilogue{{At: 2, Reg: sp}}},
		{"registers and room", "55 53 50 31c0 4883c408 5b 5d c3", []Epilogue{{At: 5, Reg: sp, Offset: 24}}},
		{"frame pointer", "55 4883ec10 488d6c2410 31c0 4883c410 5d c3", []Epilogue{{At: 12, Reg: sp, Offset: 24}}},
		{
			"from the frame pointer", "55 4157 4883ec08 488d6c2410 31c0 488d65f8 415f 5d c3",
			[]Epilogue{{At: 14, Reg: bp, Offset: 8}},
		},
		{
			"two", "53 85ff 7403 5b c3 90 31c0 5b c3",
			[]Epilogue{{At: 5, Reg: sp, Offset: 8}, {At: 10, Reg: sp, Offset: 8}},
		},
		{"tail call in a register", "50 4883c408 48ffe0", []Epilogue{{At: 1, Reg: sp, Offset: 8, Tail: true}}},
		{"tail call through memory", "50 4883c408 ff2500000000", []Epilogue{{At: 1, Reg: sp, Offset: 8, Tail: true}}},
		{"tail call elsewhere", "e900010000", []Epilogue{{Reg: sp, Tail: true}}},
		{"a switch", "50 ffe1 58 c3", []Epilogue{{At: 3, Reg: sp, Offset: 8}}},
		{"never returns", "50 cc", []Epilogue{}},
		{"another frame than at the start", "53 5b 5b c3", nil},
		{"a frame of which nothing is known", "4c8d9c2400f0ffff c8000000 488d65f8 5d c3", nil},
		{"cut", "53 5b c3 0f", nil},
		{"a conditional tail call", "0f8400010000 c3", nil},
	}
	for _, test := range tests {
		body, err := hex.DecodeString(strings.ReplaceAll(test.body, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Epilogues(abi.AMD64, body)
		for i := range got {
			if e := &got[i]; e.End <= e.At || e.End > len(body) {
				t.Errorf("%s: it ends at %d", test.name, e.End)
			}
			got[i].End = 0
		}
		same := len(got)+len(test.want) == 0 || reflect.DeepEqual(got, test.want)
		if err != nil != (test.want == nil) || err == nil && !same {
			t.Errorf("%s: %+v, %v, not %+v", test.name, got, err, test.want)
		}
	}
	if _, err := Epilogues(abi.ARM64, []byte{0xc0, 0x03, 0x5f, 0xd6}); err == nil {
		t.Error("of a CPU of which they are not known")
	}
}

func TestExits(t *testing.T) {
	tests := []struct {
		name, body     string
		returns, tails []int // nil and nil: refused
	}{
		{"leaf", "8bc6 c3", []int{2}, []int{}},
		{"two, and a handler behind", "53 85ff 7403 5b c3 90 31c0 5b c3 cc 55 4883ec10 5d c3", []int{6, 11}, []int{}},
		{"padding before that", "31c0 c3 90 cccc 55 53 5b 5d c3", []int{2}, []int{}},
		{"saved behind a call", "53 e800000000 55 5d 5b c3", []int{9}, []int{}},
		{"tail calls", "85ff 7405 e900010000 48ffe0", []int{}, []int{4, 9}},
		{"a switch is none", "ffe1 31c0 c3", []int{4}, []int{}},
		{"a conditional one", "0f8400010000 c3", nil, nil},
		{"cut", "53 5b c3 0f", nil, nil},
	}
	for _, test := range tests {
		body, err := hex.DecodeString(strings.ReplaceAll(test.body, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		returns, tails, err := Exits(abi.AMD64, body)
		refused := test.returns == nil && test.tails == nil
		if err != nil != refused || !slices.Equal(returns, test.returns) || !slices.Equal(tails, test.tails) {
			t.Errorf("%s: %v, %v, %v", test.name, returns, tails, err)
		}
	}
}

// FuzzExits reads anything as a method's code.
func FuzzExits(f *testing.F) {
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3, 0x55, 0xff, 0xe0})
	f.Fuzz(func(t *testing.T, body []byte) {
		returns, tails, err := Exits(abi.AMD64, body)
		for _, at := range append(returns, tails...) {
			if at < 0 || at >= len(body) {
				t.Fatalf("%d in %d bytes, %v", at, len(body), err)
			}
		}
	})
}
