package check

import (
	"strings"
	"testing"

	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// TestConfig: what is configured has effect.
func TestConfig(t *testing.T) {
	c := configOf(t, `config = { stack_mode=perf; max_map_keys=7; print_maps_on_exit=0 }`,
		map[string]string{"stack_mode": "raw", "max_strlen": "64"})
	if c.MaxStrlen != 64 || c.MaxMapKeys != 7 || c.PrintMapsOnExit {
		t.Errorf("config: %+v", c)
	}
	p, diags := compile(t, `u:/x:f { @[1] = ustack; $s = str(arg0) }`, Input{Config: &c})
	if p == nil {
		t.Fatal(text(diags))
	}
	if got := typestr(p.Maps[0].Value); got != "ustack_raw_127" {
		t.Errorf("stack: %s", got)
	}
	if got := typestr(p.Actions[0].Vars[0].Type); got != "string[64]" {
		t.Errorf("str: %s", got)
	}
	if p.Maps[0].Max != 7 {
		t.Errorf("max: %d", p.Maps[0].Max)
	}
}

// configOf reads the configuration of a script that has only this.
func configOf(t *testing.T, block string, outside map[string]string) Config {
	t.Helper()
	var diags diag.List
	c := readConfig(block, outside, &diags)
	if diags.Errors() > 0 {
		t.Errorf("%s, %v: %s", block, outside, text(&diags))
	}
	return c
}

func readConfig(block string, outside map[string]string, diags *diag.List) Config {
	file := syntax.Load(&diag.Source{Name: "stdin", Text: block + " begin { }"}, syntax.ParseOptions{}, diags)
	return ReadConfig(file, outside, false, diags)
}

// TestSettings: one reading of what a setting says, whoever asks, from inside the script or outside.
func TestSettings(t *testing.T) {
	for _, no := range []string{"0", "false", "False", "FALSE"} {
		if configOf(t, "config = { cpp_demangle = "+no+" }", nil).CPPDemangle {
			t.Errorf("%q is not false in a script", no)
		}
		if configOf(t, "", map[string]string{"cpp_demangle": no}).CPPDemangle {
			t.Errorf("%q is not false outside", no)
		}
		if !configOf(t, "", map[string]string{"no_cpp_demangle": no}).CPPDemangle {
			t.Errorf("not %q is not true", no)
		}
	}
	for _, c := range []struct {
		block   string
		outside map[string]string
		want    bool
	}{
		{"", nil, true},
		{"config = { cpp_demangle = 0; cpp_demangle = 1 }", nil, true},
		{"config = { cpp_demangle = 1; cpp_demangle = 0 }", nil, false},
		{"config = { no_cpp_demangle = 1 }", nil, false},
		{"config = { cpp_demangle = 1 }", map[string]string{"cpp_demangle": "0"}, false},
		{"", map[string]string{"no_cpp_demangle": "1"}, false},
		{"", map[string]string{"no_cpp_demangle": "1", "cpp_demangle": "1"}, true},
		{"", map[string]string{"another_programs": "1"}, true},
	} {
		if got := configOf(t, c.block, c.outside).CPPDemangle; got != c.want {
			t.Errorf("%s, %v: %v", c.block, c.outside, got)
		}
	}
	if n := configOf(t, "", nil).MaxProbes; n != 0 {
		t.Errorf("no limit of probes was asked for, but there is one of %d", n)
	}
	for _, wrong := range []struct{ name, value, want string }{
		{"max_strlen", "many", "max_strlen: expecting a number, got many"},
		{"max_probes", "10x", "max_probes: expecting a number, got 10x"},
		{"strlen", "many", "max_strlen: expecting a number, got many"},
		{"missing_probes", "maybe", "valid values are ignore, warn, and error"},
		{"cpp_demangle", "no", "cpp_demangle: Invalid bool value"},
	} {
		var diags diag.List
		readConfig("", map[string]string{wrong.name: wrong.value}, &diags)
		if got := text(&diags); diags.Errors() != 1 || !strings.Contains(got, wrong.want) {
			t.Errorf("%s=%s: %s", wrong.name, wrong.value, got)
		}
	}
}
