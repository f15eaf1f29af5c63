package debuginfo

import (
	"testing"

	"trocar/internal/binary/types"
)

// TestTexts: the registers of texts are those that follow from the types of parameters.
func TestTexts(t *testing.T) {
	t.Parallel()
	for _, command := range []string{bookO2v4, clbookO2, goProgram} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			in := open(t, build(t, command))
			found, err := in.Texts()
			if err != nil {
				t.Fatal(err)
			}
			texts := 0
			if err := in.Functions(func(fn *Function) bool {
				sig, err := in.Signature(fn)
				if err != nil {
					t.Error(err)
				}
				var want Texts
				n, register := 0, 0
				for _, p := range sig.Params {
					switch typ := p.Type.Complete(); {
					case n == MostTexts:
					case typ.IsCString():
						want.at(n, register, false)
						n, register = n+1, register+1
					case typ.Form() == types.StringForm:
						want.at(n, register, true)
						n, register = n+1, register+2
					case (typ.Kind == types.Int || typ.Kind == types.Pointer || typ.Kind == types.Bool) && typ.Size <= 8:
						register++
					default:
						return true // where the next one is passed is not as simple
					}
				}
				if fn.Lang.OwnABI() && fn.Name[len(fn.Name)-1] == ']' || len(sig.Results) > 0 && !fn.Lang.OwnABI() &&
					!sig.Results[0].Type.IsScalar() {
					return true
				}
				texts += n
				if got := found[fn.Entry].Args; got != want {
					t.Errorf("%s: %#x, want %#x", fn.Qualified, got, want)
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			if texts == 0 {
				t.Error("no function takes a text")
			}
		})
	}
}
