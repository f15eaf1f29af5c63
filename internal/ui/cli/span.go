package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// timeSpan is the value of a flag that takes a time: with a unit, or a plain number of seconds.
type timeSpan time.Duration

func (d *timeSpan) Set(text string) error {
	v, err := parseTime(text)
	*d = timeSpan(v)
	return err
}

func (d *timeSpan) String() string { return time.Duration(*d).String() }

// Type is how help calls the value.
func (d *timeSpan) Type() string { return "duration" }

// span adds a flag that takes a time.
func span(f *pflag.FlagSet, at *time.Duration, name, short, help string) {
	f.VarP((*timeSpan)(at), name, short, help)
}

// parseTime reads a time: "10ms", "1m30s", and numbers of seconds, as timeout(1) takes them: "3", "0.5".
func parseTime(text string) (time.Duration, error) {
	if text != "" && strings.Trim(text, "0123456789.") == "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n >= math.MaxInt64/1e9 {
			return 0, fmt.Errorf("%q is no number of seconds", text)
		}
		return time.Duration(math.Round(n * 1e9)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no time; use seconds, or a number with a unit (ns, us, ms, s, m, h), such as 10ms", text)
	}
	return d, nil
}
