package result

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMergeSeries(t *testing.T) {
	cells := func() []SeriesCell {
		return []SeriesCell{{7, 5, 2}, {6, -1, 1}, {7, -9, 3}, {7, 10, 1}}
	}
	tests := []struct {
		agg      SeriesAgg
		unsigned bool
		want     string
	}{
		{SeriesLast, false, "6:-1 7:-9"},
		{SeriesSum, false, "6:-1 7:6"},
		{SeriesMin, false, "6:-1 7:-9"},
		{SeriesMax, false, "6:-1 7:10"},
		{SeriesMax, true, "6:-1 7:-9"},
		{SeriesAvg, false, "6:-1 7:1"},
	}
	for _, tt := range tests {
		var got []string
		for _, c := range MergeSeries(cells(), tt.agg, tt.unsigned) {
			got = append(got, fmt.Sprintf("%d:%d", c.Interval, c.Value))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("aggregation %d, unsigned %v: got %s, want %s", tt.agg, tt.unsigned, s, tt.want)
		}
	}
}

func TestSeriesSpan(t *testing.T) {
	at := func(ns uint64) time.Time { return time.Unix(0, int64(ns)) }
	tests := []struct {
		cells []SeriesCell
		count int
		last  uint64
		want  string
	}{
		{nil, 3, 9, ""},
		{[]SeriesCell{{Interval: 5, Value: 1}, {Interval: 7, Value: 2}}, 10, 8, "5=1 6- 7=2 8-"},
		{[]SeriesCell{{Interval: 5, Value: 1}, {Interval: 7, Value: 2}}, 2, 8, "7=2 8-"},
		{[]SeriesCell{{Interval: 5, Value: 1}}, 2, 8, ""},
		{[]SeriesCell{{Interval: 0, Value: 1}}, 5, 1, "0=1 1-"},
	}
	for _, tt := range tests {
		var got []string
		span := SeriesSpan{Interval: time.Second, Count: tt.count, Last: tt.last, At: at}
		for _, p := range span.Series(tt.cells).Points {
			if p.Set {
				got = append(got, fmt.Sprintf("%d=%d", p.Start.Unix(), p.Value))
			} else {
				got = append(got, fmt.Sprintf("%d-", p.Start.Unix()))
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("got %q, want %q", s, tt.want)
		}
	}
}

func TestWall(t *testing.T) {
	w, err := NewWall()
	if err != nil {
		t.Fatal(err)
	}
	boot := w.Time(0)
	if since := time.Since(boot); since < 0 {
		t.Errorf("booted in %v", -since)
	}
	if w.Time(1500).Sub(boot) != 1500 {
		t.Error("nanoseconds are not added")
	}
	again, err := NewWall()
	if err != nil {
		t.Fatal(err)
	}
	if d := again.Time(0).Sub(boot).Abs(); d > 100*time.Millisecond {
		t.Errorf("two readings of the time of boot are %v apart", d)
	}
}

func TestStrerror(t *testing.T) {
	for n, want := range map[int64]string{
		0: "Success", 2: "No such file or directory", -14: "Bad address", 133: "Memory page has hardware error",
		41: "Unknown error 41", 134: "Unknown error 134", -4096: "Unknown error -4096",
		-1 << 63: "Unknown error -9223372036854775808",
	} {
		if got := Strerror(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
