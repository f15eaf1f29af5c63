package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDotNetObjects: objects of .NET are shown by the types that they are of, with their fields, which scripts name;
// the running program tells where these are.
func TestDotNetObjects(t *testing.T) {
	app := dotnetApp(t, "goods.cs")
	program := startManaged(t, app, aheadOnly)
	round := func() { program.goOn(); program.says("done") }
	round() // so that the types are loaded
	// Types have names as long as the program runs.
	trace, notes := program.traced(round, "trace", "-n", "7", "System.Object::Equals(object,object)",
		"System.InvalidOperationException::.ctor(string,Exception)", "System.String::Join(string,IEnumerable<string>)",
		"System.Collections.Generic.List::Contains", "System.Diagnostics.Process::Start(ProcessStartInfo)")
	for _, want := range []string{
		`.ctor(string,Exception)(this=Broken, message="nothing left", innerException=System.IO.FileNotFoundException{ ` +
			`._message = "no such é", ._innerException = NULL, ._HResult = -2147024894 })`,
		`(separator="-", values=System.Collections.Generic.List<string>) = "one-two-three-nothing left-nothing left"`,
		`(objA=Order, objB=System.Collections.Generic.List<string>)`,
		`(objA=System.Collections.Generic.Dictionary<string,int>, objB=string("text"))`,
		`(objA=int[], objB=int(5))`,
		`Contains(T)(this=System.Collections.Generic.List<string>, item=string("two")) = true`,
		`startInfo=System.Diagnostics.ProcessStartInfo{ ._fileName = "/bin/true", ._arguments = "-v all"`,
		`._windowStyle = Normal`, // of this assembly's own
	} {
		if !strings.Contains(trace, want) {
			t.Errorf("no %s\n%s%s", want, trace, notes)
		}
	}

	core := filepath.Join(filepath.Dir(app), "System.Private.CoreLib.dll")
	shown, notes := program.traced(round, "run", "-e", fmt.Sprintf(
		`uprobe:%s:"System.Collections.Generic.List<__Canon>::Contains(T)" {
			printf("%%d %%d %%s\n", len(args.this), args.this._size, args.this[1]);
			print(*args.this);
			exit()
		}
		uprobe:%[1]s:"System.InvalidOperationException::.ctor(string,Exception)"
		/args.innerException._message == "no such é"/ {
			printf("%%s\n", args.innerException._helpURL);
			@codes[args.innerException._HResult] = count();
			@texts[args.message] = count();
			@same[args.message == args.this._message, str(args.message, 4)] = count();
			@last = args.message;
		}
		uprobe:%[1]s:"System.InvalidOperationException::.ctor(string,Exception)" /str(args.message) == "nothing left"/ {
			@left = count()
		}`, core))
	for _, want := range []string{
		"6 6 string(\"two\")\n", `string("three"),string("nothing left")`, "NULL\n", "@codes[-2147024894]: 1\n",
		"@texts[nothing left]: 1\n", "@same[false, noth..]: 1\n", "@last: nothing left\n", "@left: 1\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q\n%s%s", want, shown, notes)
		}
	}

	// What is not known is told: no type, and no process.
	for _, test := range []struct{ at, want string }{
		{strconv.Itoa(program.Process.Pid), "has not loaded the type yet"},
		{"", "name its process with -p"},
	} {
		args := []string{"-e", "uprobe:" + core + `:"System.IO.FileStream::.ctor(string,FileStreamOptions)" ` +
			"{ print(args.options._bufferSize) }"}
		if test.at != "" {
			args = append([]string{"-p", test.at}, args...)
		}
		if out, err := tracerFails(args...); err == nil || !strings.Contains(out, test.want) {
			t.Errorf("%v\n%s", err, out)
		}
	}
	program.ends()
}

// TestDotNetOwnFields: fields of a program's own types, which are compiled while it runs.
func TestDotNetOwnFields(t *testing.T) {
	app := dotnetApp(t, "owns.cs")
	if !fires(t) {
		t.Skip("debug registers do not work on this machine")
	}
	program := startManaged(t, app)
	round := func() { program.goOn(); program.says("done") }
	round() // so that the types are loaded
	trace, notes := program.traced(round, "trace", "-n", "4", "App.Fields::Handle")
	want := `(request=App.Request{ .path = "/p2", .id = 20000000000, .user = App.User, .at = { .X = 2, .Y = -2 }, ` +
		`.limit = 2, `
	if !strings.Contains(trace, want) {
		t.Errorf("no %s\n%s%s", want, trace, notes)
	}
	trace, notes = program.traced(round, "trace", "-n", "2", "--if", "request.user.Age > 2", "--args",
		"path=request.path, name=request.user.Name, limit=request.limit, y=request.points[1].Y, n=len(request.points)",
		"App.Fields::Handle")
	for _, want := range []string{
		`(path="/p3", name="ann é", limit=NULL, y=4, n=2)`, `(path="/p4", name="ann é", limit=4, y=4, n=2)`,
	} {
		if !strings.Contains(trace, want) {
			t.Errorf("no %s\n%s%s", want, trace, notes)
		}
	}
	for what, want := range map[string]string{
		"request.pair": "in which order the runtime has the fields of KeyValuePair<string,int> is not known",
		"pairs[0]":     "elements of 'List<KeyValuePair<string,int>>' are not known",
		"request[0]":   "elements of 'Request' are not known",
	} {
		out, err := tracerFails("trace", "-p", strconv.Itoa(program.Process.Pid), "--args", what, "App.Fields::Handle")
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	program.ends()
}

// TestDotNetRenewed: methods that are called often are compiled again. They are traced in that code, too, or it is told
// that they are not.
func TestDotNetRenewed(t *testing.T) {
	app := dotnetApp(t, "warm.cs")
	const method, tier = "System.IO.File::Exists(string)", "[OptimizedTier1]"
	program := startManaged(t, app)
	pid := strconv.Itoa(program.Process.Pid)
	for end := time.Now().Add(patience); ; {
		if strings.Contains(tracerSays(t, "perf-map", "-p", pid), method+tier) {
			break
		} else if time.Now().After(end) {
			t.Fatal("it is not compiled again")
		}
	}
	args := []string{"count", "-p", pid, "--for", "300ms", "System.IO.File::Exists"}
	out, err := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), args...).CombinedOutput()
	seen := strings.Contains(string(out), "its code was compiled at run time (OptimizedTier1)") &&
		strings.Contains(string(out), "  "+method)
	told := strings.Contains(string(out), "WARNING: calls of "+method+" are not seen in the code that was compiled at run")
	if err != nil || seen == told || seen != fires(t) {
		t.Errorf("%v\n%s", err, out)
	}
	program.ends()
}
