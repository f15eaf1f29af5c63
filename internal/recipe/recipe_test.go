package recipe

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

var update = flag.Bool("update", false, "write the golden files anew")

// inC is a function of C with a parameter of each kind.
func inC() Function {
	return Function{
		Point: "./server:handle", Returns: []string{"uretprobe:./server:handle"}, Name: "handle", Called: true, Typed: true,
		Params: []Value{
			{Name: "fd"},
			{Name: "path", Show: AsText},
			{Name: "size", Show: AsWhole},
			{Name: "ratio", Show: Hidden, Why: "in xmm0"},
			{Name: "pid"}, // a word of the language
		},
		Result: &Value{Name: "retval"}, ResultExpr: "retval",
		EntryKey: `pid(init), (int64)(reg("sp") + 8)`, ReturnKey: `pid(init), (int64)reg("sp")`,
	}
}

// twin is like inC but for its name.
func twin() Function {
	fn := inC()
	fn.Point, fn.Returns, fn.Name = "./server:handle2", []string{"uretprobe:./server:handle2"}, "handle2"
	return fn
}

func inCPP() Function {
	return Function{
		Point: `./shop:"shop::Till::add(std::vector<int> const&)"`,
		Returns: []string{
			`uprobe:./shop:"shop::Till::add(std::vector<int> const&)"+16`,
			`uprobe:./shop:"shop::Till::add(std::vector<int> const&)"+34`,
		},
		Name: "shop::Till::add", Typed: true, Params: []Value{{Name: "this"}, {Name: "cents", Show: AsWhole, Size: 7000}},
		Result: &Value{Name: "retval", Show: AsText}, ResultExpr: `(int8 *)reg("ax")`,
		EntryKey: `pid(init), (int64)(reg("sp") + 8)`, ReturnKey: `pid(init), (int64)(reg("sp") + 8)`,
	}
}

func inGo() Function {
	return Function{
		Point: `./app:"main.(*T).Do"`, NoReturn: "no instruction of it returns", Name: "main.(*T).Do", Called: true,
		Typed:  true,
		Params: []Value{{Name: "t"}, {Name: "s", Show: AsText}},
	}
}

func inGoReturning() Function {
	fn, tasks := inGo(), &probe.Tasks{
		Name: "goroutine", Short: "g", ID: "goid", Frame: "goframe",
		Left: "a panic, runtime.Goexit or a switch to another goroutine",
	}
	fn.Returns, fn.NoReturn, fn.Tasks = []string{`uretprobe:./app:"main.(*T).Do"`}, "", tasks
	fn.EntryKey, fn.ReturnKey = taskKey(tasks), taskKey(tasks)
	fn.Result, fn.ResultExpr = &Value{Name: "retval"}, "retval"
	return fn
}

func unknown() Function {
	return Function{
		Point: "libx:open", Returns: []string{"uretprobe:libx:open"}, Name: "open", Called: true,
		EntryKey: `pid(init), (int64)(reg("sp") + 8)`, ReturnKey: `pid(init), (int64)reg("sp")`,
	}
}

// allocating are functions that allocate memory: some end by themselves, some go on in others, and one gives memory
// back.
func allocating() (fns []Function) {
	for _, name := range []string{"malloc", "realloc", "posix_memalign", "free", "calloc"} {
		fn := unknown()
		fn.Point, fn.Name, fn.Word = "libc:"+name, name, `reg("ax")`
		fn.BareKey, fn.ReturnKey = fn.EntryKey, fn.EntryKey
		fn.Ends = []string{"uprobe:libc:0x10"}
		fns = append(fns, fn)
	}
	fns[1].Onward = []onward{
		{point: "uprobe:libc:0x20", names: []string{"malloc"}},
		{point: "uprobe:libc:0x30", returns: []string{"uprobe:libc:0x40", "uprobe:libc:0x44"}, open: true},
	}
	fns[4].Onward = []onward{{point: "uprobe:libc:0x50", names: []string{"wmemset", "memset"}, open: true}}
	return fns
}

// all is all functions that a pattern fits.
func all() Function {
	return Function{
		Point: `./server:"h*"`, Returns: []string{`uretprobe:./server:"h*"`}, Name: "h*", Called: true, Whole: true,
	}
}

func TestRecipes(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func([]Function, Question, *diag.List) Script
		fns   []Function
		o     Question
	}{
		{"trace-c", Trace, []Function{inC()}, Question{}},
		{"trace-twins", Trace, []Function{inC(), twin()}, Question{Stack: true}},
		{"trace-cpp", Trace, []Function{inCPP(), inC()}, Question{For: 10 * time.Second}},
		{"trace-min", Trace, []Function{inCPP()}, Question{Min: 10 * time.Millisecond, Lines: 100, Strlen: 200}},
		{"trace-go", Trace, []Function{inGo()}, Question{For: 1500 * time.Millisecond}},
		{"trace-goroutines", Trace, []Function{inGoReturning()}, Question{Values: true}},
		{"trace-goroutines-text", Trace, []Function{inGoReturning()}, Question{}},
		{"trace-args", Trace, []Function{inC()}, Question{
			Args: []string{"fd + 1, str(path, 10)", "retval"},
			If:   "fd > 2 && retval < 0",
		}},
		{"trace-lines", Trace, []Function{inC()}, Question{
			Lines: 5, Comm: "a name that is too long", If: "fd > 2",
			Strlen: 10, Depth: 2,
		}},
		{"trace-later", Trace, []Function{inC()}, Question{
			Args: []string{"retval + fd, duration"},
			If:   "duration > 1000 && str(path) == \"/\"", Depth: -1,
		}},
		{"trace-if", Trace, []Function{inC()}, Question{If: `str(path) == "/"`}},
		{"trace-json", Trace, []Function{inC(), inGo()}, Question{Values: true, Stack: true}},
		{"trace-unknown", Trace, []Function{unknown()}, Question{}},
		{"count", Count, []Function{inC(), twin(), inCPP()}, Question{}},
		{"count-by", Count, []Function{inC()}, Question{By: []string{"path, size"}, If: "fd == 1"}},
		{"count-every", Count, []Function{inC(), twin()}, Question{Every: time.Second}},
		{"latency-by", Latency, []Function{inC(), twin()}, Question{
			By: []string{"path"},
			If: "fd > 0 && retval == 0", Every: 500 * time.Millisecond,
		}},
		{"latency-direct", Latency, []Function{inC(), twin()}, Question{Every: 2 * time.Second}},
		{"dist", Dist, []Function{inC(), twin()}, Question{Value: "fd"}},
		{"dist-text", Dist, []Function{inC()}, Question{Value: "path", By: []string{"retval, fd % 2"}}},
		{"dist-linear", Dist, []Function{inC()}, Question{
			Value: "retval", Linear: [3]int64{0, 100, 10}, Comm: "x",
			For: 3 * time.Second,
		}},
		{"dist-table", Dist, []Function{inC(), inGo()}, Question{
			Value: "duration / 1000", Table: true,
			Min: time.Millisecond,
		}},
		{"count-whole", Count, []Function{all(), inC()}, Question{By: []string{"comm"}, If: "pid > 1"}},
		{
			"latency-whole", Latency,
			[]Function{all(), inC(), inGo()},
			Question{By: []string{"comm"}, Comm: "x", Min: time.Second},
		},
		{"profile", Profile, nil, Question{Comm: "x", For: 10 * time.Second, Frequency: 199}},
		{"profile-every", Profile, nil, Question{By: []string{"cpu"}, If: "pid > 1", Every: time.Second}},
		{"offcpu", OffCPU, nil, Question{Comm: "x", For: time.Second}},
		{"offcpu-every", OffCPU, nil, Question{If: "tid > 1", Min: time.Millisecond, Every: time.Second}},
		{"locks", Locks, nil, Question{Comm: "x", For: time.Second, Every: time.Second}},
		{"locks-go", Locks, []Function{inGoReturning()}, Question{Min: time.Millisecond}},
		{"leaks", Leaks, allocating(), Question{Older: 5 * time.Second, Every: time.Second, If: "tid > 1"}},
		{"syscalls", Syscalls, nil, Question{By: []string{"comm"}, Every: time.Second, Comm: "x", Top: 5}},
		{"count-comm", Count, []Function{inC(), twin()}, Question{Comm: "server"}},
		{"stack", Stack, []Function{inC(), twin()}, Question{For: time.Microsecond}},
		{"latency", Latency, []Function{inC(), inCPP(), inGo()}, Question{If: "fd > 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.fns {
				fn := &c.fns[i]
				fn.ShowOf = func(expr string) (Show, int) {
					for _, p := range fn.Params {
						if p.Name == expr {
							return p.Show, p.Size
						}
					}
					return AsValue, 8
				}
			}
			var diags diag.List
			s := c.write(c.fns, c.o, &diags)
			for _, d := range diags.All {
				t.Errorf("%s", d.Text)
			}
			got := s.Text
			for _, n := range s.Notices {
				got += "// NOTICE " + n + "\n"
			}
			path := filepath.Join("testdata", c.name+".bt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			// It is a script: what the parser finds wrong would be our fault.
			src := &diag.Source{Name: c.name, Text: s.Text}
			file := syntax.Parse(src, syntax.ParseOptions{}, &diags)
			for _, d := range diags.All {
				t.Errorf("%v: %s", d.Span, d.Text)
			}
			if len(file.Probes) == 0 {
				t.Error("no probes")
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		o    Question
		want string
	}{
		{Question{Args: []string{"a +"}}, "expected expression"},
		{Question{Args: []string{"a", "b c"}}, "unexpected"},
		{Question{Args: []string{""}}, "expected expression"},
		{Question{If: "a, b"}, "unexpected"},
		{Question{If: "} end {"}, "expected expression"},
	} {
		var diags diag.List
		Trace([]Function{inC()}, c.o, &diags)
		text := ""
		for _, d := range diags.All {
			text += d.Text + "\n"
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%+v: %q, not %q", c.o, text, c.want)
		}
	}
}

// TestNoReturns: a condition on what is not seen is not taken for true.
func TestNoReturns(t *testing.T) {
	for _, o := range []Question{{Min: time.Second}, {If: "retval > 0"}} {
		var diags diag.List
		s := Trace([]Function{inGo(), inC()}, o, &diags)
		if diags.Errors() > 0 || strings.Contains(s.Text, "main.(*T).Do") || !strings.Contains(s.Text, "handle") {
			t.Errorf("%+v: %s", o, s.Text)
		}
		if Trace([]Function{inGo()}, o, &diags); diags.Errors() != 1 {
			t.Errorf("%+v: %d errors", o, diags.Errors())
		}
	}
}

// TestShapes: however many functions are asked about, the number of clauses is bounded, and each function is in one or
// left out with a word.
func TestShapes(t *testing.T) {
	var fns []Function
	for i := range 3000 {
		fn := inC()
		fn.Point, fn.Name = fmt.Sprintf("./server:f%d", i), fmt.Sprintf("f%d", i)
		fn.Returns = []string{"uretprobe:" + fn.Point}
		fn.Params = []Value{{Name: "fd"}, {Name: fmt.Sprintf("p%d", i/2)}}
		fns = append(fns, fn)
	}
	for _, o := range []Question{
		{Kind: "trace"},
		{Kind: "trace", Stack: true, Min: time.Second},
		{Kind: "count", By: []string{"fd"}},
		{Kind: "latency", By: []string{"fd"}},
		{Kind: "dist", Value: "p7"},
		{Kind: "stack", If: "fd == 1"},
	} {
		var diags diag.List
		s := Write(o, fns, &diags)
		file := syntax.Parse(&diag.Source{Text: s.Text}, syntax.ParseOptions{}, &diags)
		if diags.Errors() > 0 {
			t.Fatalf("%+v: %s", o, diags.All[0].Text)
		}
		if n := len(file.Probes); n > maxPrograms+3 {
			t.Errorf("%+v: %d probes", o, n)
		}
		points := 0
		for _, p := range file.Probes {
			if p.Points[0].Kind == "uprobe" {
				points += len(p.Points)
			}
		}
		if points < len(fns) && len(s.Notices) == 0 {
			t.Errorf("%+v: %d of %d functions, without a word", o, points, len(fns))
		}
	}
}

func TestEventKinds(t *testing.T) {
	for _, c := range []struct{ pattern, kind, rest string }{
		{"syscall:openat", "syscall", "openat"},
		{"tracepoint:sched:*", "tracepoint", "sched:*"},
		{"t:sched:*", "tracepoint", "sched:*"},
		{"usdt:./x:a/b", "usdt", "./x:a/b"},
		{"uprobe:libc:open", "", "libc:open"},
		{"libc:open", "", "libc:open"},
		{"syscall::Number::get", "", "syscall::Number::get"},
		{"kprobe:x", "", "kprobe:x"},
		{"main", "", "main"},
	} {
		if kind, rest := eventKind(c.pattern); kind != c.kind || rest != c.rest {
			t.Errorf("%s: %q, %q", c.pattern, kind, rest)
		}
	}
}

// TestTogether: a pattern that fits many functions is one clause where nothing is asked of single ones.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		o    Question
		want bool
	}{
		{Question{Kind: "trace", Functions: []string{"*"}}, true},
		{Question{Kind: "trace", Functions: []string{"*"}, If: "duration > 5 && comm == \"x\"", Enter: true}, true},
		{Question{Kind: "trace", Functions: []string{"libc:*", "libm:*"}}, true},
		{Question{Kind: "trace", Functions: []string{"libc:a*", "libc:*b"}}, false},
		{Question{Kind: "trace", Functions: []string{"*"}, Args: []string{"arg0"}}, false},
		{Question{Kind: "trace", Functions: []string{"*"}, If: "retval < 0"}, false},
		{Question{Kind: "count", Functions: []string{"*"}}, false},
	} {
		if got := c.o.Together(); got != c.want {
			t.Errorf("%+v: %v", c.o, got)
		}
	}
}

// TestWhole: a pattern is a clause where nothing is asked that differs between functions.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		o    Question
		want bool
	}{
		{Question{Kind: "count"}, true},
		{Question{Kind: "stack", If: "pid == 3 && comm == \"x\""}, true},
		{Question{Kind: "latency", By: []string{"comm", "cpu, tid"}, If: "duration > 5"}, true},
		{Question{Kind: "count", If: "duration > 5"}, false},
		{Question{Kind: "count", By: []string{"comm, arg0"}}, false},
		{Question{Kind: "latency", By: []string{"retval"}}, false},
		{Question{Kind: "latency", If: "name"}, false},
		{Question{Kind: "latency", If: "args.comm"}, false},
		{Question{Kind: "count", Functions: []string{"a*", "x.c:12"}}, false},
		{Question{Kind: "trace"}, false},
		{Question{Kind: "dist", Value: "duration"}, true},
		{Question{Kind: "dist", Value: "duration / 1000", By: []string{"comm"}}, true},
		{Question{Kind: "dist", Value: "duration + name"}, false},
		{Question{Kind: "dist", Value: "retval"}, false},
	} {
		if got := c.o.Whole(); got != c.want {
			t.Errorf("%+v: %v", c.o, got)
		}
	}
}

// TestNames: whatever a program calls its parameters, the script is one.
func TestNames(t *testing.T) {
	fn := inC()
	fn.Params = nil
	for _, n := range []string{
		"start", "thread_", "func_", "stack_", "retval", "comm", "if", "int",
		"~r0", "", "名前", "a.b", "value0", "args", "ärger",
	} {
		fn.Params = append(fn.Params, Value{Name: n})
	}
	for _, o := range []Question{{}, {Values: true}} {
		var diags diag.List
		s := Trace([]Function{fn}, o, &diags)
		syntax.Parse(&diag.Source{Name: "names", Text: s.Text}, syntax.ParseOptions{}, &diags)
		for _, d := range diags.All {
			t.Errorf("%v: %s", d.Span, d.Text)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, kind := range Kinds() {
		var diags diag.List
		if s := Write(Question{Kind: kind, Value: "fd"}, []Function{inC()}, &diags); s.Text == "" || diags.Errors() > 0 {
			t.Errorf("%s: %d errors, %q", kind, diags.Errors(), s.Text)
		}
	}
	var diags diag.List
	if Write(Question{Kind: "nothing"}, []Function{inC()}, &diags); diags.Errors() != 1 {
		t.Errorf("%d errors", diags.Errors())
	}
}

func TestTotals(t *testing.T) {
	var diags diag.List
	totals := map[string]Total{}
	for _, total := range Trace([]Function{inC()}, Question{Lines: 5}, &diags).Totals {
		totals[total.Map] = total
	}
	for _, c := range []struct {
		name  string
		value int64
		want  string
	}{
		{"@lines", 0, ""},
		{"@lines", 5, ""},
		{"@lines", 6, "exited after 5 lines (-n); 1 more came before the probes were detached"},
		{"@lines", 8, "exited after 5 lines (-n); 3 more came before the probes were detached"},
		{"@open", 0, ""},
		{"@open", 1, "1 call had not returned, or was left by an exception or longjmp"},
		{"@open", 2, "2 calls had not returned, or were left by an exception or longjmp"},
	} {
		total := totals[c.name]
		if got := total.Text(c.value); got != c.want {
			t.Errorf("%s %d: %q", c.name, c.value, got)
		}
	}
}
