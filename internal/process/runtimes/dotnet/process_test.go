package dotnet

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"trocar/internal/process/target"
)

func TestReadable(t *testing.T) {
	for name, want := range map[string]string{
		"int32 [System.Private.CoreLib] Interop/Sys::Stat(uint8&,valuetype Interop/Sys/FileStatus&)[OptimizedTier1]": "" +
			"Interop+Sys::Stat(byte&,Interop+Sys+FileStatus&)",
		"bool [System.Private.CoreLib] System.IO.File::Exists(string)[OptimizedTier1]": "System.IO.File::Exists(string)",
		"void [late] Late::Main()[QuickJitted]":                                        "Late::Main()",
		"bool [late] Late::LateOne(class [mscorlib]System.Collections.Generic.List`1<!!0>,string[])[QuickJitted]": "" +
			"Late::LateOne(List<!!0>,string[])",
		"!0 [System.Private.CoreLib] System.RuntimeType+IGenericCacheEntry`1[System.__Canon]::CreateAndCache" +
			"(class System.RuntimeType)[InstrumentedTier]": "" +
			"System.RuntimeType+IGenericCacheEntry<__Canon>::CreateAndCache(RuntimeType)",
		"int32 [System.Private.CoreLib] System.SpanHelpers::SequenceCompareTo(char&,int32,char&,int32)[QuickJitted]": "" +
			"System.SpanHelpers::SequenceCompareTo(char&,int,char&,int)",
		"value class A.B`2<int32[],class C> [x] N.Outer`1+Inner`1[System.Int32,System.Object]::.ctor" +
			"(valuetype N.Pair`2<int64,int32[,]>*,uint8[][])[Optimized]": "" +
			"N.Outer<int>+Inner<object>::.ctor(Pair<long,int[,]>*,byte[][])",
		"stub GenerateResolveStub":   "",
		"int Calls.late(int)":        "",
		"JS:~f [x] a::b() file.js:1": "",
		"x[y]":                       "",
		"":                           "",
		"[]":                         "",
	} {
		got, ok := readable(name)
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, want)
		}
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("value class A.B`2<int32[],class C> [x] N.O`1+I`1[System.Int32,[m]A`1[B]]::.ctor(valuetype N.P`2<int64>*)[T]")
	f.Fuzz(func(t *testing.T, name string) {
		if text, ok := readable(name); ok && len(text) > 2*len(name)+16 {
			t.Errorf("%q became %d bytes", name, len(text))
		}
	})
}

func text(s string) []byte {
	units := append(utf16.Encode([]rune(s)), 0)
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func factsReply() []byte {
	b := make([]byte, 24)
	for _, s := range []string{"/app/shop serve", "Linux", "x64", "shop", "9.0.1+c8acea2262"} {
		b = append(b, text(s)...)
	}
	return b
}

func TestFacts(t *testing.T) {
	whole := factsReply()
	got, err := parseFacts(whole)
	if want := (facts{entry: "shop", version: "9.0.1"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range whole {
		if _, err := parseFacts(whole[:n]); err == nil {
			t.Errorf("%d bytes of it were taken", n)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(reply(0, factsReply()))
	f.Add(reply(0xff, binary.LittleEndian.AppendUint32(nil, unknownCommand)))
	f.Fuzz(func(t *testing.T, b []byte) {
		conn := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(b), io.Discard}
		if payload, err := exchange(conn, processInfo); err == nil {
			_, _ = parseFacts(payload)
		}
	})
}

func reply(status byte, payload []byte) []byte {
	b := request(0)
	b[16], b[17] = 0xff, status
	binary.LittleEndian.PutUint16(b[14:], uint16(ipcHeader+len(payload)))
	return append(b, payload...)
}

// standIn stands in for .NET's in this process: it writes a perf map.
type standIn struct {
	mu    sync.Mutex
	dir   string
	asked []command
	file  *os.File // of the perf map
}

// begin has it listen, and gives the process as it is found.
func begin(t *testing.T, answer func(*standIn, net.Conn, command)) (*standIn, *process) {
	t.Helper()
	id := target.PID(os.Getpid())
	stat, err := id.Stat()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &process{
		pid: id, inner: os.Getpid(), start: stat.Start, uid: uint32(os.Geteuid()), tmp: dir, maps: dir,
		patience: time.Minute,
	}
	l, err := net.Listen("unix", filepath.Join(dir, p.socket()))
	if err != nil {
		t.Fatal(err)
	}
	s := &standIn{dir: dir}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			head := make([]byte, ipcHeader)
			if _, err := io.ReadFull(c, head); err == nil {
				_, _ = io.CopyN(io.Discard, c, int64(binary.LittleEndian.Uint16(head[14:]))-int64(ipcHeader))
				answer(s, c, command(binary.BigEndian.Uint16(head[16:])))
			}
			c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		served.Wait()
		if s.file != nil {
			s.file.Close()
		}
	})
	return s, p
}

// obey does what a runtime does.
func obey(s *standIn, c net.Conn, what command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
	switch what {
	case enablePerfMap:
		s.file, _ = os.Create(filepath.Join(s.dir, "perf-"+strconv.Itoa(os.Getpid())+".map"))
		_, _ = s.file.WriteString("1000 10 void [x] X::Y()[QuickJitted]\n")
	case disablePerfMap:
		if s.file != nil {
			s.file.Close()
			s.file = nil
		}
	case processInfo:
		_, _ = c.Write(reply(0, factsReply()))
		return
	default:
		_, _ = c.Write(reply(0xff, binary.LittleEndian.AppendUint32(nil, unknownCommand)))
		return
	}
	_, _ = c.Write(reply(0, make([]byte, 4)))
}

// TestPerfMap: it is switched on, used by several, and switched off by the last; no file has a name meanwhile.
func TestPerfMap(t *testing.T) {
	s, p := begin(t, obey)
	if a := p.About(); a.Version != "9.0.1, program shop" {
		t.Errorf("%+v", a)
	}
	second := *p
	for _, p := range []*process{p, &second} {
		if err := p.Names(); err != nil {
			t.Fatal(err)
		}
	}
	if maps, err := filepath.Glob(s.dir + "/perf-*"); len(maps) > 0 || err != nil {
		t.Errorf("%q, %v", maps, err)
	}
	if err := p.Close(); err != nil || s.file == nil {
		t.Errorf("the map that another one uses is off: %v", err)
	}
	// The other one is killed. The next finds what it has left.
	second.held.Close()
	third := *p
	third.live = false
	if err := third.Names(); err != nil || third.held == nil {
		t.Fatalf("what was left is not taken over: %v", err)
	}
	if err := third.Close(); err != nil || s.file != nil {
		t.Errorf("it is left on: %v", err)
	}
	want := []command{processInfo, enablePerfMap, disablePerfMap}
	if len(s.asked) != len(want) || s.asked[1] != want[1] || s.asked[2] != want[2] {
		t.Errorf("asked for %v, want %v", s.asked, want)
	}
}

// TestForeignPerfMap: one that somebody else has switched on stays as it is.
func TestForeignPerfMap(t *testing.T) {
	s, p := begin(t, obey)
	path := filepath.Join(s.dir, p.mapName())
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Names(); err != nil || p.held != nil {
		t.Errorf("%v, %v", p.held, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil || len(s.asked) > 0 {
		t.Errorf("%v, asked for %v", err, s.asked)
	}
}

// TestRefusals: what is in the way, and peers that do not answer as they should.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, want string
		answer     func(*standIn, net.Conn, command)
		before     func(dir, path string) error
	}{
		{"a link", "in the way", obey, func(_, path string) error { return os.Symlink("elsewhere", path) }},
		{"old", "it takes .NET 8", func(_ *standIn, c net.Conn, _ command) {
			_, _ = c.Write(reply(0xff, binary.LittleEndian.AppendUint32(nil, unknownCommand)))
		}, nil},
		{"silent", "without an answer", func(*standIn, net.Conn, command) {}, nil},
		{"nonsense", "unknown form", func(_ *standIn, c net.Conn, _ command) { _, _ = c.Write(make([]byte, 100)) }, nil},
		{"stalled", "did not answer within", func(_ *standIn, c net.Conn, _ command) {
			_, _ = io.Copy(io.Discard, c) // until the other end gives up
		}, nil},
	} {
		s, p := begin(t, test.answer)
		p.patience = map[bool]time.Duration{true: 50 * time.Millisecond, false: time.Minute}[test.name == "stalled"]
		if test.before != nil {
			if err := test.before(s.dir, filepath.Join(s.dir, p.mapName())); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Names(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		maps, _ := filepath.Glob(s.dir + "/perf-*")
		if left := len(maps); left > 0 && test.before == nil {
			t.Errorf("%s: %q is left", test.name, maps)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want settings
	}{
		{nil, settings{}},
		{map[string]string{"DOTNET_EnableDiagnostics": "0"}, settings{mute: true}},
		{map[string]string{"COMPlus_EnableDiagnostics": "0", "DOTNET_EnableDiagnostics": "1"}, settings{}},
		{map[string]string{"DOTNET_PerfMapEnabled": "2", "DOTNET_TC_CallCounting": "0"}, settings{}},
		{map[string]string{"DOTNET_PerfMapEnabled": "3"}, settings{perfMap: true}},
	} {
		got, err := readSettings(func(name string) (string, bool, error) { v, ok := test.env[name]; return v, ok, nil })
		if err != nil || got != test.want {
			t.Errorf("%v: %+v, %v", test.env, got, err)
		}
	}
}
