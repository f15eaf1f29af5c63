package trocar_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"trocar"
	"trocar/internal/need"
	"trocar/result"
)

// keeper keeps the heads of events, by text.
type keeper struct {
	heads map[string]result.Head
	pid   int
}

func (k *keeper) Event(e result.Event) error {
	switch e := e.(type) {
	case *result.Printf:
		k.heads[strings.Clone(e.Text)] = e.Head // the text is lent
	case *result.Print:
		k.pid = int(e.Value.Num)
	}
	return nil
}

func (k *keeper) Flush() error { return nil }

// TestHeads: events say when, where and by whom a probe was hit, if that was asked for.
func TestHeads(t *testing.T) {
	need.Root(t)
	shell := need.Tool(t, "sh")
	for _, heads := range []bool{false, true} {
		k := &keeper{heads: map[string]result.Head{}}
		start := time.Now()
		_, err := trocar.Run(context.Background(), trocar.Request{
			Script: `begin { printf("begin"); }
				uprobe:libc:exit, uprobe:libc:_exit { printf("exit %s", func); printf("exit"); print(pid); }`,
			Target: trocar.Target{Command: []string{shell, "-c", "exit 0"}}, Heads: heads,
		}, os.Environ(), k, trocar.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		begin, ok := k.heads["begin"]
		exit, ok2 := k.heads["exit"]
		if !ok || !ok2 {
			t.Fatalf("events: %v", k.heads)
		}
		if !heads {
			if begin != (result.Head{Action: 1}) || exit != (result.Head{Action: 2}) {
				t.Errorf("not asked for: %+v, %+v", begin, exit)
			}
			continue
		}
		if begin.Probe != "begin" || begin.PID != os.Getpid() || begin.TID == 0 {
			t.Errorf("begin: %+v", begin)
		}
		if exit.Action != 2 || exit.PID != k.pid || exit.TID != k.pid || exit.PID == 0 || exit.Time.Before(begin.Time) {
			t.Errorf("exit: %+v, of process %d", exit, k.pid)
		}
		for text, h := range k.heads {
			if h.Time.Before(start.Add(-time.Second)) || h.Time.After(time.Now().Add(time.Second)) {
				t.Errorf("%s: at %v, between %v and now", text, h.Time, start)
			}
			if function, ok := strings.CutPrefix(text, "exit "); ok && !strings.HasSuffix(h.Probe, ":"+function) {
				t.Errorf("%s: probe %s", text, h.Probe)
			}
		}
	}
}
