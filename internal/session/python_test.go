package session

import "testing"

func TestModuleOf(t *testing.T) {
	for file, want := range map[string]string{
		"/srv/app/handlers.py": "handlers", "/srv/app/__init__.py": "app", "x.py": "x", "": "",
		"<frozen importlib._bootstrap>": "importlib._bootstrap", "<string>": "<string>",
	} {
		if got := moduleOf(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
