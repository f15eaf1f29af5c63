package builtin

import "trocar/internal/binary/types"

var clocks = []Func{
	{
		ID: NSecs, Names: []string{"nsecs"}, Variable: true, Min: 0, Max: 1, Group: GroupTime, Result: types.TUint64,
		Variants: []string{"uint64 nsecs", "uint64 nsecs([boot|monotonic|tai|sw_tai])"},
		Doc: `Nanoseconds by a clock of the kernel: boot, the default, counts from the start of the machine and includes
suspended time; monotonic leaves that out; tai is international atomic time (kernel 6.1); sw_tai is an approximation of it
that works on every kernel. Differences between two nsecs of one clock are durations.`,
	},
	{
		ID: Elapsed, Names: []string{"elapsed"}, Variable: true, Group: GroupTime, Result: types.TUint64,
		Variants: []string{"uint64 elapsed"},
		Doc:      `Nanoseconds since tracing began.`,
	},
	{
		ID: Jiffies, Names: []string{"jiffies"}, Variable: true, Group: GroupTime, Result: types.TUint64,
		Variants: []string{"uint64 jiffies"},
		Doc:      `The kernel's tick counter.`,
	},
	{
		ID: StrFTime, Names: []string{"strftime"}, Min: 2, Max: 2, Group: GroupTime, Async: true,
		Variants: []string{"timestamp strftime(const string fmt, uint64 nsecs)"},
		Doc: `A point in time as text. The format is strftime(3)'s, %f is microseconds with leading zeros, and %:z the offset of
the zone as RFC 3339 has it. The value can be kept in variables and maps; it becomes text when it is printed (with %s).
The timestamp must come from nsecs, nsecs(boot), nsecs(tai) or nsecs(sw_tai); a monotonic one cannot be told as a time of
day.`,
	},
	{
		ID: Time, Names: []string{"time"}, Min: 0, Max: 1, Group: GroupTime, Async: true, Result: types.TNone,
		Variants: []string{"void time([const string fmt])"},
		Doc: `Prints the time of day. The format is strftime(3)'s, with %f for microseconds and %:z for the zone; without one
it is "%H:%M:%S\n". The time is that at which the record is read, a moment after the event: use strftime for the time of the event.`,
	},
}
