package debuginfo

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// stripped builds a program without debug info and returns it with its debug file and build id.
func stripped(t *testing.T) (program, debug, id string) {
	path := build(t, "gcc -O2 -g -Wl,--build-id -o full $SRC/plain.c && objcopy --only-keep-debug full full.debug && objcopy --strip-debug full $OUT")
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return path, filepath.Join(filepath.Dir(path), "full.debug"), f.BuildID()
}

func fetchWith(t *testing.T, program, urls string, more ...string) (*Info, error) {
	t.Helper()
	env := map[string]string{"DEBUGINFOD_URLS": urls, "DEBUGINFOD_CACHE_PATH": t.TempDir()}
	for i := 0; i+1 < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	in, err := OpenWith(f, DebuginfodFrom(func(name string) string { return env[name] }))
	if err == nil {
		t.Cleanup(func() { in.Close() })
	}
	return in, err
}

func TestDebuginfodAnswers(t *testing.T) {
	t.Parallel()
	program, debug, id := stripped(t)
	asked := 0
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			if want := "/buildid/" + id + "/debuginfo"; r.URL.Path != want {
				t.Errorf("asked for %s, not %s", r.URL.Path, want)
			}
			h(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	good := serve(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, debug) })
	missing := serve(http.NotFound)
	broken := serve(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
	other := serve(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "/bin/sh") })
	garbage := serve(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>welcome</html>") })
	cut := serve(func(w http.ResponseWriter, r *http.Request) {
		b, _ := os.ReadFile(debug)
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b[:len(b)/2])
	})
	silent := serve(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, c := range []struct{ name, urls, want string }{
		{"first", good, ""},
		{"second after missing", missing + " " + good, ""},
		{"second after broken", broken + " " + good, ""},
		{"second after a file of another program", other + " " + good, ""},
		{"second after a cut file", cut + " " + good, ""},
		{"missing", missing, "no such file"},
		{"broken", broken, "500"},
		{"another program", other, "it sent the file of build id"},
		{"no file at all", garbage, "it sent something else"},
		{"cut", cut, "EOF"},
		{"silent", silent, "canceled"},
		{"refused", "http://127.0.0.1:1", "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := fetchWith(t, program, c.urls, "DEBUGINFOD_TIMEOUT", "1")
			if c.want != "" {
				if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, not %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if fns, err := in.FunctionsNamed("many"); err != nil || len(fns) != 1 {
				t.Errorf("%v, %v", fns, err)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		if _, err := fetchWith(t, program, good, "DEBUGINFOD_MAXSIZE", "100"); err == nil || !strings.Contains(err.Error(), "DEBUGINFOD_MAXSIZE") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("cache", func(t *testing.T) {
		cache := t.TempDir()
		for _, urls := range []string{good, missing} { // the second time nobody is asked
			if _, err := fetchWith(t, program, urls, "DEBUGINFOD_CACHE_PATH", cache); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := os.ReadDir(filepath.Join(cache, id))
		if err != nil || len(entries) != 1 || entries[0].Name() != "debuginfo" {
			t.Errorf("cache has %v, %v", entries, err)
		}
		cache = t.TempDir()
		before := asked
		for range 3 {
			fetchWith(t, program, missing, "DEBUGINFOD_CACHE_PATH", cache)
		}
		if asked != before+1 {
			t.Errorf("asked %d times for a file that is missing", asked-before)
		}
	})
	if DebuginfodFrom(func(string) string { return "" }) != nil {
		t.Error("servers without DEBUGINFOD_URLS")
	}
	if _, err := (&Debuginfod{}).DebugFile(t.Context(), "../../etc"); err == nil {
		t.Error("took a path for a build id")
	}
}

// TestDebuginfodServer asks Debian's debuginfod on loopback.
func TestDebuginfodServer(t *testing.T) {
	t.Parallel()
	need.Tool(t, "debuginfod")
	program, debug, _ := stripped(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	dir := t.TempDir()
	if err := os.Link(debug, filepath.Join(dir, "full.debug")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("debuginfod", "-d", filepath.Join(t.TempDir(), "index.sqlite"), "-p", port, "-t", "1", "-F", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	var in *Info
	deadline := time.Now().Add(30 * time.Second)
	for {
		in, err = fetchWith(t, program, "http://127.0.0.1:"+port)
		if err == nil || time.Now().After(deadline) {
			break
		}
		time.Sleep(300 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	fns, err := in.FunctionsNamed("many")
	if err != nil || len(fns) != 1 {
		t.Fatalf("%v, %v", fns, err)
	}
	if p, err := in.Prototype(fns[0]); err != nil || p != "int many(int a, long int b, char c, short int d, const char *e, struct list *f, int g, pair_t h)" {
		t.Errorf("%s, %v", p, err)
	}
}
