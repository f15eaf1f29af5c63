package symbolize

import (
	"errors"
	"strings"
	"testing"
)

func TestKernelAddress(t *testing.T) {
	const text = "ffffffff81000000 T _text\n" +
		"ffffffff81000010 t twice\nffffffff81000020 t twice\n" +
		"ffffffff82000000 D jiffies\n" +
		"ffffffffc0000000 t in_module\t[nf_tables]\n" +
		"0000000000000000 T hidden\nnonsense\n\nffffffff83000000 b last"
	for name, want := range map[string]uint64{
		"_text": 0xffffffff81000000, "twice": 0xffffffff81000010, "jiffies": 0xffffffff82000000,
		"in_module": 0xffffffffc0000000, "last": 0xffffffff83000000,
	} {
		if got, err := kernelAddress(strings.NewReader(text), name); err != nil || got != want {
			t.Errorf("%s: %#x %v", name, got, err)
		}
	}
	for name, want := range map[string]error{
		"hidden": ErrHidden, "missing": ErrNoSymbol, "": ErrNoSymbol,
		"nf_tables": ErrNoSymbol,
	} {
		if _, err := kernelAddress(strings.NewReader(text), name); !errors.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
