package objfile

import "testing"

func TestCoroutine(t *testing.T) {
	for name, want := range map[string]string{
		"_Z8countingPZ8countingiE18_Z8countingi.Frame.actor":   "body",
		"_Z8countingPZ8countingiE18_Z8countingi.Frame.destroy": "destroy",
		"_Z8countingi.resume":  "resume",
		"_Z8countingi.cleanup": "destroy",
		"_Z8countingi":         "",
		"_Z8countingi.cold":    "",
		".actor":               "",
		"":                     "",
	} {
		if got := Coroutine(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := DemangleBare("_Z8countingPZ8countingiE18_Z8countingi.Frame.actor"); got != "counting [body]" {
		t.Error(got)
	}
	if got := DemangleBare("_Z8countingi.resume"); got != "counting [resume]" {
		t.Errorf("%q", got)
	}
}
