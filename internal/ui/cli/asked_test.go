package cli

import (
	"io"
	"testing"
	"time"

	"trocar/internal/ui/output"
	"trocar/result"
)

// TestNoCalls: of a run without calls nothing is said of which it was told that it cannot be known.
func TestNoCalls(t *testing.T) {
	format, err := output.Lookup("text")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		event   result.Event
		filters []string
		want    string
	}{
		{&result.Notice{}, nil, "no calls in 1s: 1 function was probed, none was called"},
		{&result.Notice{}, []string{"--if"}, "no calls in 1s that fit --if: 1 function was probed"},
		{&result.Notice{Blind: true}, nil, "no calls were seen in 1s: 1 function was probed"},
		{&result.Notice{Blind: true}, []string{"--if"}, "no calls were seen in 1s that fit --if: 1 function was probed"},
		{&result.Lost{What: "hits", Count: 1}, nil, "no calls were seen in 1s: 1 function was probed"},
	} {
		k := &sink{s: &settings{asked: asked{filters: c.filters}}, app: &app{}}
		k.Sink = format.New(output.Options{Out: io.Discard, Err: io.Discard})
		if err := k.Event(c.event); err != nil {
			t.Fatal(err)
		}
		if got := k.noCalls(1, "1 function was probed", time.Second); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
