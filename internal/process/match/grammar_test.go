package match

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/need"
	"trocar/internal/process/probe"
	"trocar/internal/process/tracefs"
	"trocar/internal/script/diag"
)

// TestPoints tells what attach points that need no file become.
func TestPoints(t *testing.T) {
	for _, c := range []struct {
		script string
		want   probe.Point
	}{
		{"begin {}", probe.Point{Kind: probe.Begin, Name: "begin"}},
		{"BEGIN {}", probe.Point{Kind: probe.Begin, Name: "begin"}},
		{"END {}", probe.Point{Kind: probe.End, Name: "end"}},
		{"self:signal:SIGUSR1 {}", probe.Point{Kind: probe.Self, Name: "self:signal:SIGUSR1", Event: "SIGUSR1"}},
		{"test:one {}", probe.Point{Kind: probe.Test, Name: "test:one", Event: "one"}},
		{"bench:two {}", probe.Point{Kind: probe.Bench, Name: "bench:two", Event: "two"}},
		{"interval:s:1 {}", probe.Point{Kind: probe.Interval, Name: "interval:s:1", Period: 1e9}},
		{"i:ms:10 {}", probe.Point{Kind: probe.Interval, Name: "interval:ms:10", Period: 10e6}},
		{"i:us:7 {}", probe.Point{Kind: probe.Interval, Name: "interval:us:7", Period: 7e3}},
		{"i:hz:5 {}", probe.Point{Kind: probe.Interval, Name: "interval:hz:5", Freq: 5}},
		{"i:5us {}", probe.Point{Kind: probe.Interval, Name: "interval:us:5", Period: 5e3}},
		{"i:2s {}", probe.Point{Kind: probe.Interval, Name: "interval:us:2000000", Period: 2e9}},
		{"i:1500 {}", probe.Point{Kind: probe.Interval, Name: "interval:us:1", Period: 1e3}},
		{"profile:hz:99 {}", probe.Point{Kind: probe.Profile, Name: "profile:hz:99", Freq: 99}},
		{"p:ms:0x10 {}", probe.Point{Kind: probe.Profile, Name: "profile:ms:16", Period: 16e6}},
		{"software:cpu-clock:100000 {}", probe.Point{
			Kind: probe.Software, Name: "software:cpu-clock:100000",
			Event: "cpu-clock", Period: 100000,
		}},
		{"s:cpu:100 {}", probe.Point{Kind: probe.Software, Name: "software:cpu:100", Event: "cpu-clock", Period: 100}},
		{"s:faults {}", probe.Point{
			Kind: probe.Software, Name: "software:faults", Event: "page-faults", Config: 2,
			Period: 100,
		}},
		{"hardware:cache-misses:10 {}", probe.Point{
			Kind: probe.Hardware, Name: "hardware:cache-misses:10",
			Event: "cache-misses", Config: 3, Period: 10,
		}},
		{"h:cycles {}", probe.Point{Kind: probe.Hardware, Name: "hardware:cycles", Event: "cpu-cycles", Period: 1000000}},
		{"watchpoint:0x10000000:8:w {}", probe.Point{
			Kind: probe.Watchpoint, Name: "watchpoint:268435456:8:w",
			Addr: 0x10000000, WatchLen: 8, WatchMode: "w",
		}},
		{"w:0x10000000:1:wr {}", probe.Point{
			Kind: probe.Watchpoint, Name: "watchpoint:268435456:1:rw", Addr: 0x10000000,
			WatchLen: 1, WatchMode: "rw",
		}},
		{"mine=interval:s:1 {}", probe.Point{Kind: probe.Interval, Name: "mine", Period: 1e9}},
		{"iter:task {}", probe.Point{Kind: probe.Iter, Name: "iter:task", Event: "task"}},
	} {
		points, r := find(t, c.script, Options{})
		if len(points) != 1 || r.Diags.Errors() > 0 {
			t.Errorf("%s: %d points\n%s", c.script, len(points), messages(r))
			continue
		}
		if !reflect.DeepEqual(*points[0], c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.script, *points[0], c.want)
		}
	}
}

// TestMistakes tells what is said of attach points that are wrong. Each line is found in the messages.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"uprob:x:y {}", "ERROR: Invalid probe type: uprob\nhint: did you mean uprobe?"},
		{"begin:x {}", "begin probe type requires 0 arguments, found 1"},
		{"uprobe {}", "uprobe probe type requires 2 or 3 arguments, found 0"},
		{"u:a:b:c:d {}", "uprobe probe type requires 2 or 3 arguments, found 4"},
		{"u:/bin/sh:A::b {}", "uprobe probe type requires 2 or 3 arguments, found 4"},
		{"u:/bin/sh:java:b {}", "unsupported language type: java\nhint: the languages are cpp, c++ or rust"},
		{"interval:x:1 {}", "x is not an accepted unit of time"},
		{"interval:ms:x {}", "Invalid rate of interval probe: invalid integer: x"},
		{"interval:s {}", "Invalid rate of interval probe: invalid integer: s"},
		{"i:ms:0 {}", "interval frequency should be a positive integer"},
		{"i:500 {}", "Invalid rate of interval probe. Minimum is 1000 or 1us. Found: 500 nanoseconds"},
		{"i:s:18446744073709551615 {}", "interval frequency should be a positive integer"},
		{"i:* {}", "interval probe must have an integer frequency"},
		{"profile:hz:99:1 {}", "profile probe type requires 1 or 2 arguments, found 3"},
		{"hardware:cache-mises:1 {}", "cache-mises is not a hardware probe\nhint: did you mean cache-misses?"},
		{"software:x {}", "x is not a software probe\nhint: the events are alignment-faults,"},
		{"software:cpu:x {}", "Invalid count for software probe: invalid integer: x"},
		{"software:* {}", "wildcards are not allowed for software probe type"},
		{"watchpoint:0x10:3:w {}", "watchpoint length must be one of (1,2,4,8)"},
		{"watchpoint:0:8:w {}", "watchpoint must be attached to a non-zero address"},
		{"watchpoint:0x11:8:w {}", "must be a multiple of its length 8"},
		{"watchpoint:0x10:8:rx {}", "invalid watchpoint mode: rx\nhint: supported modes: x,w,rw"},
		{"watchpoint:0x10:8:ww {}", "watchpoint modes may not be duplicated"},
		{"watchpoint:0x10:8:b {}", "watchpoint mode must be combination of (r,w,x)"},
		{"watchpoint:x:8:w {}", "Invalid function/address argument: invalid integer: x"},
		{"watchpoint:./p:x:w {}", "a variable has its address in a process: none is named\nhint: -p PID watches it"},
		{"self:signal:SIGINT {}", "SIGINT is not a supported signal"},
		{"self:x:y {}", "x is not a supported trigger"},
		{"test:a,test:a {}", "\"a\" was used as the name for more than one TEST probe\nnote: this is the other instance"},
		{"tracepoint:foo {}", "tracepoint probe type requires 2 arguments, found 1"},
		{"u:nofile:x {}", "uprobe target file 'nofile' does not exist or is not executable"},
		{"u:/none/file:x {}", "uprobe target file '/none/file' does not exist or is not executable"},
		{"u:/etc/passwd:x {}", "not an ELF file"},
		{"u:/etc:x {}", "uprobe target file '/etc' does not exist or is not executable"},
		{"u::x {}", "uprobe should have a target"},
		{"u:/bin/sh: {}", "uprobe should be attached to a function"},
		{"usdt::x {}", "usdt probe must specify at least path or pid to probe"},
		{"usdt:/bin/sh: {}", "usdt probe must have a target function or wildcard"},
		{"uprobe:*:0x10 {}", "Cannot use wildcards with absolute address"},
		{"ur:/bin/sh:f+1 {}", "Offset not allowed"},
		{"u:/bin/sh:f+1+2 {}", "Cannot take more than one offset"},
		{"u:/bin/sh:f+x {}", "Invalid offset: invalid integer: x"},
		{"u:/bin/sh:f+ {}", "Invalid offset"},
		{"k:0x1234 {}", "Probing by address requires --unsafe"},
		{"iter:task,iter:task {}", "iter probe only supports one attach point."},
		{"iter:nonsense {}", "iter nonsense not available for your kernel version."},
		{"fentry:bpf:x:y {}", "bpf program id must be a number or '*'"},
		{"zz*:x {}", "No probe type matched for zz*"},
	} {
		_, r := find(t, c.script, Options{})
		if r.Diags.Errors() == 0 || !strings.Contains(messages(r), c.want) {
			t.Errorf("%s:\n%swant %s", c.script, messages(r), c.want)
		}
	}
}

func TestUprobes(t *testing.T) {
	dir := t.TempDir()
	prog := compile(t, dir, "prog", `
#include <stdlib.h>
__attribute__((noipa)) int first(int a) { return a + 1; }
__attribute__((noipa)) int second(int a) { return first(a) * 2; }
__attribute__((noipa)) void *get(int n) { return malloc(n); }
__asm__(".globl odd\n.type odd, @function\nodd: push %rbx\nmov $0x1234, %eax\npop %rbx\nret\n.size odd, .-odd\n"
 ".globl chopped.cold\n.type chopped.cold, @function\nchopped.cold: nop\nret\n.size chopped.cold, 2\n");
__asm__(".globl padded\n.type padded, @function\npadded: push %rbx\n.byte 0x0f, 0x1f, 0x44, 0, 0\npop %rbx\nret\n.size padded, .-padded\n");
int main(int c, char **v) { return second(c) + (get(3) != 0); }`, "-O1", "-fcf-protection=none")
	for _, c := range []struct {
		part  string
		want  []string // names behind the path
		skips []int
		said  string
	}{
		{part: "first", want: []string{"first"}},
		{part: "*st", want: []string{"first"}},
		{part: "first+0", want: []string{"first"}},
		{part: `"first"+0`, want: []string{"first"}},
		{part: "odd+1", want: []string{"odd+1"}},
		{part: `"odd"+1`, want: []string{"odd+1"}},
		{part: "odd+0x6", want: []string{"odd+6"}},
		{part: "odd+2", said: "Could not add uprobe into middle of instruction: " + prog + ":odd+2\nnote: for this attach " +
			"point\nhint: the instruction begins at +1"},
		{part: "odd+8", said: "Offset outside the function bounds ('odd' size is 8)"},
		{part: "padded+1", want: []string{"padded+1"}, skips: []int{5}},
		{part: "chopped.cold", want: []string{"chopped.cold"}},
		{part: "chop*", said: "Probe has no valid attach points"},
		{part: "frist", said: "No matches for uprobe " + prog + ":frist.\nhint: did you mean first?"},
		{part: "malloc", said: "note: malloc is imported here and defined in /"},
		{part: "10", said: "Could not resolve address: " + prog + ":0xa"},
	} {
		points, r := find(t, "u:"+prog+":"+c.part+" {}", Options{})
		var names []string
		var skips []int
		for _, p := range points {
			names = append(names, strings.TrimPrefix(p.Name, "uprobe:"+prog+":"))
			if p.Skip > 0 {
				skips = append(skips, p.Skip)
			}
		}
		if !reflect.DeepEqual(names, c.want) || !reflect.DeepEqual(skips, c.skips) ||
			!strings.Contains(messages(r), c.said) || c.said == "" && messages(r) != "" {
			t.Errorf("%s: %v skips %v, want %v %v %q\n%s", c.part, names, skips, c.want, c.skips, c.said, messages(r))
		}
	}
	for part, said := range map[string]string{
		"_start":       "it is where the program starts",
		"chopped.cold": "rarely used part of a function",
	} {
		if points, r := find(t, "ur:"+prog+":"+part+" {}", Options{}); len(points) != 0 ||
			!strings.Contains(messages(r), said) {
			t.Errorf("uretprobe on %s: %d points\n%s", part, len(points), messages(r))
		}
	}
	if points, _ := find(t, "ur:"+prog+":* {}", Options{}); len(points) == 0 {
		t.Error("no uretprobes at all")
	} else {
		for _, p := range points {
			if strings.HasSuffix(p.Name, ":_start") {
				t.Error("a pattern puts a uretprobe on _start")
			}
		}
	}

	// By address, also in the stripped program.
	first, _ := find(t, "u:"+prog+":second {}", Options{})
	stripped := compile(t, dir, "stripped", `
__attribute__((noipa)) int second(int a) { return a * 2; }
int main(int c, char **v) { return second(c); }`, "-O1", "-s", "-fcf-protection=none")
	points, r := find(t, fmt.Sprintf("u:%s:%d {}", prog, first[0].Addr), Options{})
	if len(points) != 1 || points[0].Offset != first[0].Offset || points[0].Name != fmt.Sprintf("uprobe:%s:%d", prog,
		first[0].Addr) || points[0].Func != "second" {
		t.Errorf("by address: %+v\n%s", points, messages(r))
	}
	_, r = find(t, fmt.Sprintf("u:%s:second {}", stripped), Options{})
	if !strings.Contains(messages(r), "has no symbols: it is stripped") {
		t.Errorf("stripped: %s", messages(r))
	}
	b, err := newFiles(t.Context(), Options{}).openPath(stripped, stripped)
	if err != nil {
		t.Fatal(err)
	}
	fn, ok := b.im.Frames().Function(b.obj.Entry() + 300)
	for a := b.obj.Entry(); !ok && a < b.obj.Entry()+4096; a += 16 {
		fn, ok = b.im.Frames().Function(a)
	}
	if !ok {
		t.Fatal("no unwind table")
	}
	start := fn.Low
	points, r = find(t, fmt.Sprintf("u:%s:%#x {}", stripped, start), Options{})
	if len(points) != 1 || points[0].Addr != start {
		t.Errorf("stripped by address: %+v\n%s", points, messages(r))
	}
}

func TestMissing(t *testing.T) {
	prog := compile(t, t.TempDir(), "prog", "int main(void) { return 0; }")
	script := "u:" + prog + ":main,u:" + prog + ":nothing {}"
	for mode, want := range map[string]string{
		"": "ERROR: No matches for uprobe", "error": "ERROR: No matches for uprobe",
		"warn": "WARNING: No matches for uprobe " + prog + ":nothing. Skipping.", "ignore": "",
	} {
		points, r := find(t, script, Options{Missing: mode})
		if len(points) != 1 || want == "" && messages(r) != "" || !strings.Contains(messages(r), want) {
			t.Errorf("%s: %d points\n%s", mode, len(points), messages(r))
		}
	}
	_, r := find(t, "u:"+prog+":nothing {}", Options{Missing: "warn"})
	if !strings.Contains(messages(r), "WARNING: Probe has no valid attach points. It is being removed") {
		t.Errorf("all missing: %s", messages(r))
	}
	if _, r = find(t, "u:"+prog+":* {}", Options{MaxProbes: 1}); !strings.Contains(messages(r),
		"exceeds the current limit of 1 probes") {
		t.Errorf("too many: %s", messages(r))
	}
	points, r := find(t, "begin,interval:s:1,i:s:2 {}",
		Options{Filter: func(name string) bool { return strings.Contains(name, ":2") }})
	if len(points) != 2 || points[0].Kind != probe.Begin || points[1].Name != "interval:s:2" || r.Diags.Errors() > 0 {
		t.Errorf("filter: %v\n%s", points, messages(r))
	}
}

func TestFormat(t *testing.T) {
	record, err := parseFormat(event{"syscalls", "sys_enter_x"}, `name: x
ID: 372
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:const char * filename;	offset:16;	size:8;	signed:0;
	field:char comm[16];	offset:24;	size:16;	signed:0;
	field:u16 port[2];	offset:40;	size:4;	signed:0;
	field:__data_loc char[] name;	offset:44;	size:4;	signed:0;
	field:bool ok;	offset:48;	size:1;	signed:0;
	field:struct odd thing;	offset:56;	size:24;	signed:0;
	field:int dfd;	offset:80;	size:8;	signed:0;
	field:umode_t mode;	offset:88;	size:8;	signed:0;
	field:const loff_t pos;	offset:96;	size:8;	signed:0;
	field:unsigned int fd;	offset:104;	size:8;	signed:0;
	field:qwerty_t who;	offset:112;	size:8;	signed:0;

print fmt: "field:int no;"
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range record.Fields {
		got = append(got, fmt.Sprintf("%s@%d %s", f.Name, f.Offset, f.Type))
	}
	want := []string{
		"__syscall_nr@8 int", "filename@16 char *", "comm@24 char[16]",
		"port@40 u16[2]", "name@44 char *", "ok@48 bool", "thing@56 uint8[24]",
		"dfd@80 int", "mode@88 umode_t", "pos@96 loff_t", "fd@104 unsigned int", "who@112 qwerty_t",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
	if f, _ := record.Field("name"); !f.DataLoc || f.Type.Space != types.Kernel {
		t.Errorf("name: %+v", f)
	}
	if f, _ := record.Field("filename"); f.Type.Space != types.User {
		t.Error("a system call's string is not the caller's")
	}
	if record.Size != 120 {
		t.Errorf("size %d", record.Size)
	}
	// What a system call was given is a word; the parameter is as much of it as its type takes.
	for name, want := range map[string]types.Type{
		"dfd": {Size: 4, Signed: true}, "mode": {Size: 2}, "pos": {Size: 8, Signed: true}, "fd": {Size: 4}, "who": {Size: 8},
	} {
		if f, _ := record.Field(name); f.Type.Size != want.Size || f.Type.Signed != want.Signed {
			t.Errorf("%s has %d bytes, signed: %v", name, f.Type.Size, f.Type.Signed)
		}
	}
}

// TestRecordTypes reads declarations of fields whose types are the kernel's.
func TestRecordTypes(t *testing.T) {
	reason := &types.Type{Kind: types.Enum, Name: "enum reason", Size: 4, Align: 4}
	known := map[string]*types.Type{
		"enum reason": reason, "enum narrow": {Kind: types.Enum, Name: "enum narrow", Size: 1}, "key_t": types.TInt32,
		"struct pair": {
			Kind: types.Struct, Name: "struct pair", Size: 8,
			Fields: []types.Field{{Name: "a", Type: types.TInt32}},
		},
		"siginfo_t": {Kind: types.Struct, Name: "siginfo_t", Size: 128},
	}
	for _, tt := range []struct {
		line, want string
	}{
		{"field:const char *const * argv;	offset:8;	size:8;	signed:0;", "char * *"},
		{"field:const void *const p;	offset:8;	size:8;	signed:0;", "void *"},
		{"field:const void* p;	offset:8;	size:8;	signed:0;", "void *"},
		{"field:const char __user * name;	offset:8;	size:8;	signed:0;", "char *"},
		{`field:const char __attribute__((btf_type_tag("user"))) * name;	offset:8;	size:8;	signed:0;`, "char *"},
		{"field:struct pair * p;	offset:8;	size:8;	signed:0;", "struct pair *"},
		{"field:struct pair * * p;	offset:8;	size:8;	signed:0;", "struct pair * *"},
		{"field:siginfo_t * p;	offset:8;	size:8;	signed:0;", "siginfo_t *"},
		{"field:key_t * p;	offset:8;	size:8;	signed:0;", "int32 *"},
		{"field:unknown_t * p;	offset:8;	size:8;	signed:0;", "void *"},
		{"field:unsigned long * p;	offset:8;	size:8;	signed:0;", "uint64 *"},
		{"field:enum reason r;	offset:8;	size:4;	signed:0;", "enum reason"},
		{"field:enum reason r[2];	offset:8;	size:8;	signed:0;", "enum reason[2]"},
		{"field:enum missing r;	offset:8;	size:4;	signed:0;", "enum missing"},
		{"field:enum narrow r;	offset:8;	size:4;	signed:0;", "enum narrow"}, // an integer: the sizes contradict each other
		{"field:__data_loc unsigned int[] list;	offset:8;	size:4;	signed:0;", "uint32 *"},
		{"field:__data_loc unknown_t[] list;	offset:8;	size:4;	signed:0;", "void *"},
		{"field:__data_loc char[] s;	offset:8;	size:4;	signed:0;", "char *"},
	} {
		r := recordTypes{space: types.User, named: func(name string) *types.Type { return known[name] }}
		f, _, err := r.field(tt.line)
		if err != nil || f.Type.String() != tt.want {
			t.Errorf("%s: %s %v, not %s", tt.line, f.Type, err, tt.want)
		}
		if kernel := f.Type.Kind == types.Pointer && f.Type.Space == types.Kernel; kernel != f.DataLoc {
			t.Errorf("%s: points to %d", tt.line, f.Type.Space)
		}
		if f.Type.Kind == types.Enum && f.Type != reason {
			t.Errorf("%s: %+v", tt.line, f.Type)
		}
	}
	r := recordTypes{space: types.User, named: func(name string) *types.Type { return known[name] }}
	f, _, _ := r.field("field:struct pair * p;	offset:8;	size:8;	signed:0;")
	if f.Type.Elem.Complete() != known["struct pair"] {
		t.Error("what a pointer points to is not completed")
	}
}

func listAll(pattern string, verbose bool, opts Options) (entries []Entry, diags diag.List) {
	diags = List(context.Background(), pattern, verbose, opts, func(e Entry) { entries = append(entries, e) })
	return entries, diags
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	prog := compile(t, dir, "prog", `
__attribute__((noipa)) int alpha(void) { return 1; }
int alpha_too(void) __attribute__((alias("alpha")));
static __attribute__((used, noipa)) int beta(void) { return 2; }
int main(void) { return alpha() + beta(); }`)
	for _, c := range []struct {
		pattern string
		want    []string // among the entries
		not     []string
	}{
		{"uprobe:" + prog + ":*", []string{"uprobe:" + prog + ":alpha", "uprobe:" + prog + ":alpha_too", "uprobe:" + prog +
			":beta"}, nil},
		{"u:" + prog + ":al*", []string{"uprobe:" + prog + ":alpha"}, []string{"uprobe:" + prog + ":beta"}},
		{"uretprobe:" + prog + ":beta", []string{"uretprobe:" + prog + ":beta"}, nil},
		{"*:" + prog + ":*", []string{"uprobe:" + prog + ":alpha"}, []string{"uretprobe:" + prog + ":alpha"}},
		{prog + ":al*", []string{"uprobe:" + prog + ":alpha"}, []string{"uprobe:" + prog + ":beta"}},
		{"u:" + dir + "/pr*:alpha", []string{"uprobe:" + prog + ":alpha"}, nil},
		{"software:*", []string{"software:cpu:", "software:cpu-clock:", "software:faults:"}, nil},
		{"hardware:*", []string{"hardware:cycles:"}, nil},
		{"*ware:*", []string{"hardware:cycles:", "software:cpu:"}, nil},
		{"interval:*", []string{"interval:hz:", "interval:ms:", "interval:s:", "interval:us:"}, nil},
		{"profile:*", []string{"profile:hz:"}, nil},
		{"self:*:*", []string{"self:signal:SIGUSR1"}, nil},
		{"iter:*", []string{"iter:task"}, nil},
	} {
		entries, diags := listAll(c.pattern, false, Options{Demangle: true})
		if diags.Errors() > 0 {
			t.Errorf("%s: %s", c.pattern, diags.All[0].Text)
		}
		for _, w := range c.want {
			if !hasEntry(entries, w) {
				t.Errorf("%s: lacks %s", c.pattern, w)
			}
		}
		for _, w := range c.not {
			if hasEntry(entries, w) {
				t.Errorf("%s: has %s", c.pattern, w)
			}
		}
	}
}

// TestTracepoints looks for events of this kernel.
func TestTracepoints(t *testing.T) {
	files, err := tracefs.Open()
	if err == nil {
		defer files.Close()
		_, err = files.Stat("events/syscalls/sys_enter_read/format")
	}
	if errors.Is(err, fs.ErrPermission) {
		need.Root(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := listAll("t:syscalls:sys_enter_read", true, Options{})
	if len(entries) != 1 || !reflect.DeepEqual(entries[0].Params, []string{
		"int __syscall_nr", "unsigned int fd",
		"char * buf", "size_t count",
	}) {
		t.Errorf("tracepoint: %+v", entries)
	}
	if entries, _ := listAll("*sys_enter_rea*", false, Options{}); !hasEntry(entries,
		"tracepoint:syscalls:sys_enter_readv") {
		t.Error("a word is not looked for in tracepoints")
	}
	points, r := find(t, "t:syscalls:sys_enter_rea* {}", Options{})
	if len(points) < 2 || points[0].Scope == nil || points[0].Scope.ArgsType == nil {
		t.Errorf("%d points\n%s", len(points), messages(r))
	}
	if _, r := find(t, "t:syscall:sys_enter_read {}", Options{}); !strings.Contains(messages(r),
		"did you mean syscalls:sys_enter_read?") {
		t.Errorf("%s", messages(r))
	}
}

// TestLibraries finds libraries by name.
func TestLibraries(t *testing.T) {
	for _, name := range []string{"libc", "libc.so.6"} {
		points, r := find(t, "u:"+name+":malloc {}", Options{})
		if len(points) != 1 {
			t.Errorf("%s: %d points\n%s", name, len(points), messages(r))
		}
	}
	points, _ := find(t, "u:sh:main,u:cat:* {}", Options{})
	for _, p := range points {
		if !filepath.IsAbs(p.Path) {
			t.Errorf("%s: path %s", p.Name, p.Path)
		}
	}
	// An indirect function's implementations, with a word about it.
	points, r := find(t, "u:libc:memcpy {}", Options{})
	if len(points) < 2 || !strings.Contains(messages(r), "INFO: memcpy is an indirect function (IFUNC)") {
		t.Errorf("memcpy: %d points\n%s", len(points), messages(r))
	}
}
