package debuginfod

import (
	"context"
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

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// stripped builds a program without debug info and returns it with its debug file and build id.
func stripped(t *testing.T) (program, debug, id string) {
	dir := t.TempDir()
	program, debug = filepath.Join(dir, "program"), filepath.Join(dir, "full.debug")
	full := filepath.Join(dir, "full")
	for _, args := range [][]string{
		{"gcc", "-O2", "-g", "-Wl,--build-id", "-o", full, "../debuginfo/testdata/plain.c"},
		{"objcopy", "--only-keep-debug", full, debug},
		{"objcopy", "--strip-debug", full, program},
	} {
		need.Tool(t, args[0])
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return program, debug, f.BuildID()
}

func fetchWith(t *testing.T, program, urls string, more ...string) (*debuginfo.Info, error) {
	t.Helper()
	return fetchWithin(t, t.Context(), program, urls, more...)
}

func fetchWithin(t *testing.T, ctx context.Context, program, urls string, more ...string) (*debuginfo.Info, error) {
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
	f.FetchDebug(ctx, FromEnv(func(name string) string { return env[name] }).DebugFile)
	in, err := debuginfo.Open(f)
	if err == nil {
		t.Cleanup(func() { in.Close() })
	}
	return in, err
}

func TestAnswers(t *testing.T) {
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
				if !errors.Is(err, debuginfo.ErrNone) || !strings.Contains(err.Error(), c.want) {
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
		_, err := fetchWith(t, program, good, "DEBUGINFOD_MAXSIZE", "100")
		if err == nil || !strings.Contains(err.Error(), "DEBUGINFOD_MAXSIZE") {
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
	if FromEnv(func(string) string { return "" }) != nil {
		t.Error("servers without DEBUGINFOD_URLS")
	}
	if _, err := (&Servers{URLs: []string{"http://localhost"}}).DebugFile(t.Context(), "../../etc"); err == nil {
		t.Error("took a path for a build id")
	}
}

// TestContext ends waits for servers that never answer, or stop in the midst of it.
func TestContext(t *testing.T) {
	t.Parallel()
	program, debug, id := stripped(t)
	begun := make(chan struct{}, 1)
	never := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
	}))
	defer never.Close()
	half := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := os.ReadFile(debug)
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b[:len(b)/2])
		w.(http.Flusher).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
	}))
	defer half.Close()
	for _, urls := range []string{never.URL, half.URL, never.URL + " " + half.URL} {
		ctx, cancel := context.WithCancel(t.Context())
		var ended time.Time
		go func() {
			<-begun
			ended = time.Now()
			cancel()
		}()
		cache := t.TempDir()
		_, err := fetchWithin(t, ctx, program, urls, "DEBUGINFOD_CACHE_PATH", cache)
		if !errors.Is(err, debuginfo.ErrNone) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", urls, err)
		}
		// The limits of the settings are minutes.
		if took := time.Since(ended); took > 200*time.Millisecond {
			t.Errorf("%s: it took %v to end", urls, took)
		}
		// Neither a part of the file stays, nor that it is missing.
		if entries, err := os.ReadDir(filepath.Join(cache, id)); err != nil || len(entries) != 0 {
			t.Errorf("%s: the cache has %v, %v", urls, entries, err)
		}
	}
	if _, err := (*Servers)(nil).DebugFile(t.Context(), id); err == nil {
		t.Error("a file from no server")
	}
}

// TestServer asks Debian's debuginfod on loopback.
func TestServer(t *testing.T) {
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
	var in *debuginfo.Info
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
	const want = "int many(int a, long int b, char c, short int d, const char *e, struct list *f, int g, pair_t h)"
	if p, err := in.Prototype(fns[0]); err != nil || p != want {
		t.Errorf("%s, %v", p, err)
	}
}
