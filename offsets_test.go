package trocar

import (
	"strings"
	"testing"

	"trocar/internal/binary/objfile"
)

func TestParseMap(t *testing.T) {
	const text = "0000000000021920 2b instance int32 [app] App.Shop::sell(int32)\n\n0x10 0x8 main\r\n"
	var got []objfile.Symbol
	err := parseMap(strings.NewReader(text), "x.map", func(s *objfile.Symbol) bool { got = append(got, *s); return true })
	if err != nil || len(got) != 2 || got[0].Name != "App.Shop::sell(int32)" || got[0].Addr != 0x21920 ||
		got[0].Size != 0x2b || got[1].Name != "main" || got[1].Addr != 0x10 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"x", "10 zz main", "10 8", strings.Repeat("1", maxMapLine+1)} {
		if err := parseMap(strings.NewReader(bad), "x.map", func(*objfile.Symbol) bool { return true }); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
	}
}

func FuzzParseMap(f *testing.F) {
	f.Add("0000000000021920 2b instance int32 [app] App.Shop::sell(int32)\n")
	f.Fuzz(func(t *testing.T, text string) {
		_ = parseMap(strings.NewReader(text), "x", func(s *objfile.Symbol) bool {
			if len(s.Name) > len(text) {
				t.Errorf("%q has the name %q", text, s.Name)
			}
			return true
		})
	})
}
