package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// senseless are values that mean nothing, by flag as in rules. Each is refused, with a message that names the flag or
// the value and, where there is one, the way out.
func senseless(t *testing.T) map[string][]string {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"execute":             nil, // it is the script's to say what is wrong with it
		"pid":                 {"", "0", "00", "0x0", "-1", "x", "1x", "4194305", "99999999999999999999", ",", "1,", "1,0"},
		"tid":                 {"", "0", "-1", "x", "4194305"},
		"cmd":                 {"", " "},
		"exe":                 {""},
		"container":           {""},
		"comm":                {"", "a-name-of-16-byt"},
		"dwarf-pid":           {"", "0", "x", "1,"},
		"output":              {""},
		"format":              {"", "jsonx"},
		"buffering":           {"", "lines"},
		"include-dir":         {"", "/nonexistent", file},
		"include":             {"", "/nonexistent/a.h"},
		"debuginfo":           {"", "/nonexistent", file, "/:", ":/", "/:/nonexistent"},
		"traceable-functions": {"", "/nonexistent", "/", "/dev/zero"},
		"no-feature":          {"", "uprobe_multi,,"},
		"probe-filter":        {"", "[z"},
		"debug":               {"", "nothing", "ast,"},
		"mode":                {"", "nothing"},
		"aot":                 {""},
		"args":                {"", " "},
		"result":              {"", " "},
		"if":                  {"", " "},
		"by":                  {"", " "},
		"linear":              {"", "1", "0,10,0", "0,10,-1", "10,0,1", "5,5,1", "a,b,c", "0,10,1,1"},
		"min":                 {"", "-5s", "5x", "s", "-1ns", "-5", ".", "1.2.3", "1e3", "99999999999"},
		"older":               {"", "-5s", "5x"},
		"for":                 {"", "0", "0s", "-5s", "0.0", "1ns"},
		"interval":            {"", "0", "-1s", "0.0000001", "999ns"},
		"strlen":              {"", "0", "-1", "x", "65537", "999999999999999999999"},
		"depth":               {"", "-1", "101", "999999999", "x"},
		"top":                 {"", "0", "-1", "2147483648", "x"},
		"frequency":           {"", "0", "-1", "10001", "x"},
		"lines":               {"", "0", "-1", "2147483648", "x"},
		"info lines":          {"", " ", "a.c:0", "a.c:5-4", "a.c:x"},
		"type":                {"", " "},
		"vars":                {"", " "},
		"dir":                 {""},
		"diff":                {"", "/nonexistent", "/", "/dev/zero"},
		"map":                 {"", "/nonexistent", "/"},
	}
}

// words are what a command is given besides the flag: it would do nothing that matters if the flag were taken.
func words(command string) []string {
	switch command {
	case "trocar":
		return []string{"-e", "BEGIN { exit() }", "--dry-run"}
	case "trace", "count", "latency", "stack":
		return []string{command, "-x", "/nonexistent", "f"}
	case "dist":
		return []string{command, "-x", "/nonexistent", "f", "arg0"}
	case "info", "list", "offsets":
		return []string{command, "/nonexistent"}
	}
	return []string{command}
}

// TestFlagRules walks all flags of all commands: each has a rule, and what is senseless is refused as wrong usage.
func TestFlagRules(t *testing.T) {
	bad := senseless(t)
	seen := map[string]bool{}
	all := []*cobra.Command{newRun(&app{name: "trocar"})}
	for _, c := range commands() {
		all = append(all, c.make(&app{name: "trocar"}))
	}
	for _, cmd := range all {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !hasValue(f) {
				return
			}
			key := cmd.Name() + " " + f.Name
			if rules()[key] == nil {
				key = f.Name
			}
			seen[key] = true
			values, listed := bad[key]
			if rules()[key] == nil || !listed {
				t.Errorf("%s --%s: what values are refused is not said in rules and here", cmd.Name(), f.Name)
			}
			if f.Name == "debuginfo" && cmd.Flags().Lookup("execute") != nil {
				values = []string{"", "/:", ":/"} // missing ones are reported: e2e/script/flags.txtar
			}
			for _, value := range values {
				refused(t, append(words(cmd.Name()), "--"+f.Name+"="+value), f, value)
			}
		})
	}
	for name := range rules() {
		if !seen[name] {
			t.Errorf("no command has the flag %s", name)
		}
	}
}

func refused(t *testing.T, args []string, f *pflag.Flag, value string) {
	t.Helper()
	var out, errOut bytes.Buffer
	a := &app{name: "trocar", in: strings.NewReader(""), out: &out, err: &errOut}
	status := a.main(context.Background(), args)
	text := errOut.String()
	if status != exitUsage || !strings.Contains(text, "ERROR: ") {
		t.Errorf("%q: status %d: %s%s", args, status, out.String(), text)
	}
	named := strings.Contains(text, flagName(f)) || strings.Contains(text, "--"+f.Name)
	if !named && (value == "" || !strings.Contains(text, value)) {
		t.Errorf("%q: the message tells neither the flag nor the value: %s", args, text)
	}
}

// TestSensibleFlags: what means something is taken.
func TestSensibleFlags(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"-p", "1"},
		{"-I", dir},
		{"--debuginfo", dir + ":" + dir},
		{"--no-feature", "a,b"},
		{"-d", "ast,types"},
		{"--probe-filter", "x"},
		{"-c", "true"},
		{"-kq"},
	} {
		cmd := newRun(&app{name: "trocar"})
		if err := cmd.ParseFlags(args); err != nil {
			t.Error(err)
		}
		if err := checkFlags(cmd); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, args := range [][]string{
		{"--min", "0"},
		{"--min", "1ns"},
		{"--for", "1us"},
		{"-n", "1"},
		{"--depth", "0"},
		{"--strlen", "65536"},
		{"--comm", "a-name-of-15-by"},
		{"--args", "a, b"},
		{"--if", "a > 0"},
		{"-x", "libc"},
	} {
		cmd := newTrace(&app{name: "trocar"})
		if err := cmd.ParseFlags(args); err != nil {
			t.Error(err)
		}
		if err := checkFlags(cmd); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	cmd := newDist(&app{name: "trocar"})
	if err := cmd.ParseFlags([]string{"--linear", "-10,10,1", "--by", "a"}); err != nil {
		t.Error(err)
	}
	if err := checkFlags(cmd); err != nil {
		t.Error(err)
	}
}

func TestHasControls(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "begin { print(1);\n\t}": false, `printf("a\n")`: false, `printf("\a")`: true, `"\x41"`: true,
		`"\033[1m"`: true, "a\x1bb": true,
		"a\x7f": true, `a \8`: false, `a \`: false, "ü": false, "\r": true,
	} {
		if got := hasControls(text); got != want {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	}
}
