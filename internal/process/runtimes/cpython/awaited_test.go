package cpython

import "testing"

func TestAwaitedModule(t *testing.T) {
	for _, c := range []struct{ pattern, file, want string }{
		{"x.work", "x.py", "__main__"},
		{"x.work", "/srv/x.py", "__main__"},
		{"y.work", "/srv/y.py", "y"},
		{"__main__.work", "x.py", "__main__"},
		{"*.work", "x.py", "__main__"},
		{"work", "x.py", ""},
		{"*", "/usr/lib/python3/site.py", ""},
		{"app.handlers.Handler.get", "/srv/app/handlers.py", "app.handlers"},
		{"app.handlers.Handler.get", "/srv/app/__init__.py", "app"},
		{"app.handlers.Handler.get", "/srv/happ/__init__.py", ""},
		{"app.run", "/srv/app/__main__.py", ""},
		{"__main__.run", "/srv/app/__main__.py", "__main__"},
		{"__main__.f", "<string>", "__main__"},
		{"json.dumps", "x.py", ""},
	} {
		a := Awaited{Patterns: []string{c.pattern}, Command: []string{"python3", "-c", "x.py"}}
		if got, ok := a.module(c.file); got != c.want || ok != (c.want != "") {
			t.Errorf("%s in %s: %q, want %q", c.pattern, c.file, got, c.want)
		}
	}
}
