package image

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/need"
)

const source = `struct leaf { int n; };
struct tree { struct leaf *leaf; };
__attribute__((noinline)) int look(struct tree *t) { return t->leaf->n; }
int main(void) { struct leaf l = {0}; struct tree t = {&l}; return look(&t); }
`

// build compiles a program with debug information.
func build(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tree.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "tree")
	gcc := need.Tool(t, "gcc")
	if msg, err := exec.Command(gcc, "-g", "-O1", "-Wl,--build-id", "-o", out,
		filepath.Join(dir, "tree.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return out
}

func mustOpen(t testing.TB, s *Set, path string) *Image {
	t.Helper()
	im, err := s.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// mapped tells whether this process has a file mapped.
func mapped(t testing.TB, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), path)
}

// TestOnce: whatever leads to a file, it is opened once, and closed with the last user.
func TestOnce(t *testing.T) {
	path := build(t)
	dir := filepath.Dir(path)
	hard, soft := filepath.Join(dir, "hard"), filepath.Join(dir, "soft")
	if err := errors.Join(os.Link(path, hard), os.Symlink(path, soft)); err != nil {
		t.Fatal(err)
	}
	s := NewSet(t.Context(), Options{})
	defer s.Close()
	first := mustOpen(t, s, path)
	users := []*Image{first, first.Retain()}
	for _, p := range []string{
		path, hard, soft, filepath.Join(dir, ".", "..", filepath.Base(dir), "tree"),
		"/proc/self/root" + path,
	} {
		users = append(users, mustOpen(t, s, p))
	}
	f, err := os.Open(hard)
	if err != nil {
		t.Fatal(err)
	}
	im, err := s.OpenFile(f, "elsewhere")
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range append(users, im) {
		if other != first {
			t.Errorf("%s is another image", other.File().Path())
		}
	}
	if n := s.Opened(); n != 1 {
		t.Errorf("opened %d files", n)
	}
	if err := im.Close(); err != nil {
		t.Error(err)
	}
	for i, u := range users {
		if !mapped(t, path) {
			t.Fatalf("closed before user %d", i)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
	if mapped(t, path) {
		t.Error("open without users")
	}
	if err := first.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed once more: %v", err)
	}
	if again := mustOpen(t, s, path); again == first || s.Opened() != 2 {
		t.Error("a closed image is given out")
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestReplaced: another file at the same path, and the same file with other content, are other images.
func TestReplaced(t *testing.T) {
	path, other := build(t), build(t)
	s := NewSet(t.Context(), Options{})
	defer s.Close()
	old := mustOpen(t, s, path)
	defer old.Close()
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	now := mustOpen(t, s, path)
	defer now.Close()
	if now == old || now.ID() == old.ID() {
		t.Error("a file that was replaced is the same image")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("more")
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	written := mustOpen(t, s, path)
	defer written.Close()
	if written == now {
		t.Error("a file that was written to is the same image")
	}
	if _, err := old.Info(); err != nil {
		t.Error(err)
	}
}

// TestIdle keeps images for who asks next, as many as was said.
func TestIdle(t *testing.T) {
	a, b, c := build(t), build(t), build(t)
	s := NewSet(t.Context(), Options{Idle: 2})
	for range 3 {
		for _, p := range []string{a, b} {
			if err := mustOpen(t, s, p).Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if n := s.Opened(); n != 2 {
		t.Errorf("opened %d files", n)
	}
	if err := mustOpen(t, s, c).Close(); err != nil {
		t.Error(err)
	}
	if mapped(t, a) || !mapped(t, b) || !mapped(t, c) {
		t.Error("the one that was used longest ago is to be closed")
	}
	used := mustOpen(t, s, b)
	if err := s.Trim(); err != nil {
		t.Error(err)
	}
	if mapped(t, c) || !mapped(t, b) {
		t.Error("Trim closes those without users")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := used.Info(); err != nil {
		t.Errorf("closed with the set: %v", err)
	}
	if _, err := s.Open(b); !errors.Is(err, ErrClosed) {
		t.Errorf("opened by a closed set: %v", err)
	}
	if err := used.Close(); err != nil || mapped(t, b) {
		t.Errorf("left open: %v", err)
	}
}

// TestTypesAfterClose: a type may be kept longer than the file.
func TestTypesAfterClose(t *testing.T) {
	s := NewSet(t.Context(), Options{})
	defer s.Close()
	im := mustOpen(t, s, build(t))
	if im.HasInfo() {
		t.Error("read before it was asked for")
	}
	info, err := im.Info()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := info.TypeNamed("struct tree", nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf := tree.Complete().Fields[0].Type.Elem
	if err := im.Close(); err != nil {
		t.Error(err)
	}
	if got := leaf.Complete(); !got.Incomplete || got.Kind != types.Struct || got.Size != 4 {
		t.Errorf("%+v", got)
	}
	if _, err := im.Info(); !errors.Is(err, ErrClosed) {
		t.Errorf("info of a closed image: %v", err)
	}
	if _, err := Tell(im, func(*objfile.File) int { return 1 }); !errors.Is(err, ErrClosed) {
		t.Errorf("told of a closed image: %v", err)
	}
}

type teller struct{ closed *int }

func (t *teller) Close() error { *t.closed++; return nil }

// TestTell: what others know of an image is made once for each kind, and closed with it.
func TestTell(t *testing.T) {
	s := NewSet(t.Context(), Options{})
	defer s.Close()
	im := mustOpen(t, s, build(t))
	made, closed := 0, 0
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := Tell(im, func(f *objfile.File) *teller { made++; return &teller{&closed} }); err != nil {
				t.Error(err)
			}
			if v, err := Tell(im, func(f *objfile.File) string { return f.BuildID() }); err != nil || v != im.File().BuildID() {
				t.Errorf("%q, %v", v, err)
			}
			if v, err := Tell(im, func(f *objfile.File) error { return nil }); v != nil || err != nil {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	wait.Wait()
	if err := im.Close(); err != nil || made != 1 || closed != 1 {
		t.Errorf("made %d, closed %d: %v", made, closed, err)
	}
}

// TestContext: the set's context ends a wait for a debug file, which may be begun by whoever asks for a name first.
func TestContext(t *testing.T) {
	strip := need.Tool(t, "strip")
	path := build(t)
	if msg, err := exec.Command(strip, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var ended time.Time
	s := NewSet(ctx, Options{Fetch: func(ctx context.Context, _ string) (string, error) {
		ended = time.Now()
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}})
	defer s.Close()
	im := mustOpen(t, s, path)
	defer im.Close()
	im.FetchDebug()
	if _, err := im.Info(); !errors.Is(err, debuginfo.ErrNone) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if took := time.Since(ended); took > 200*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	if _, err := im.Frames().At(im.File().Entry()); err != nil {
		t.Errorf("call frames of a stripped file: %v", err)
	}
}

// TestTruncated: a file that is cut short while it is open is an error, not a crash.
func TestTruncated(t *testing.T) {
	s := NewSet(t.Context(), Options{})
	defer s.Close()
	path := build(t)
	im := mustOpen(t, s, path)
	defer im.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	info, err := im.Info()
	if err == nil {
		_, err = info.TypeNamed("struct tree", nil)
	}
	if err == nil {
		t.Error("debug information of a file that is gone")
	}
	if _, err := im.Frames().At(im.File().Entry()); err == nil {
		t.Error("call frames of a file that is gone")
	}
	if err := im.File().Functions(func(*objfile.Symbol) bool { return true }); err == nil {
		t.Error("names of a file that is gone")
	}
}

// TestMember: members of an archive are files of their own.
func TestMember(t *testing.T) {
	program, err := os.ReadFile(build(t))
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "app.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, name := range []string{"lib/one.so", "lib/two.so"} {
		m, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write(program); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close(), os.Link(archive, archive+"2")); err != nil {
		t.Fatal(err)
	}
	s := NewSet(t.Context(), Options{})
	defer s.Close()
	one, two := mustOpen(t, s, archive+"!/lib/one.so"), mustOpen(t, s, archive+"!/lib/two.so")
	again := mustOpen(t, s, archive+"2!/lib/one.so")
	if one == two || one != again || one.ID().Base == two.ID().Base || s.Opened() != 2 {
		t.Errorf("%+v and %+v, %d files", one.ID(), two.ID(), s.Opened())
	}
	for _, im := range []*Image{one, two, again} {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	}
	if mapped(t, archive) {
		t.Error("left open")
	}
}

func TestOpenErrors(t *testing.T) {
	s := NewSet(t.Context(), Options{})
	defer s.Close()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no program\n", 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(dir, "missing"): os.ErrNotExist, text: objfile.ErrNotELF, dir: objfile.ErrNotELF, text + "!/x": nil,
	} {
		im, err := s.Open(path)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", path, im, err)
		}
	}
	if s.Opened() != 0 {
		t.Errorf("%d files are open", s.Opened())
	}
}
