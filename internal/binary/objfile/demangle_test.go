package objfile

import "testing"

func TestParamCount(t *testing.T) {
	for name, want := range map[string]int{
		"_Z1fv": 0, "_Z1fiPKcz": 2, "_ZN6Logger3setENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEbi": 3,
		"_ZNK1A1bEv": 0, "_Z3putIiJcdEEvT_DpT0_": -1, "_Z1fi.isra.0": 1,
		"_ZN5queue5Queue4push17h0123456789abcdefE": -1, "main": -1, "_ZTV1A": -1,
	} {
		got, ok := ParamCount(name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d parameters, want %d", name, got, want)
		}
	}
}
