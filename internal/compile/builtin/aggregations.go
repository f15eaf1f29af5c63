package builtin

var aggregations = []Func{
	{
		ID: Count, Names: []string{"count"}, Min: 0, Max: 0, Group: GroupAggregations,
		Variants: []string{"count_t count()"},
		Doc: `Counts: @ = count(). Each CPU has its own counter, so nothing is lost when two CPUs count at once, as can happen with
@++. Reading the value in an expression adds them up, which costs more: (int64)@, or @ > 5.`,
	},
	{
		ID: Sum, Names: []string{"sum"}, Min: 1, Max: 1, Group: GroupAggregations,
		Variants: []string{"sum_t sum(int64 n)"},
		Doc:      `Adds up the values, per CPU like count.`,
	},
	{
		ID: Min, Names: []string{"min"}, Min: 1, Max: 1, Group: GroupAggregations,
		Variants: []string{"min_t min(int64 n)"},
		Doc:      `Keeps the smallest value.`,
	},
	{
		ID: Max, Names: []string{"max"}, Min: 1, Max: 1, Group: GroupAggregations,
		Variants: []string{"max_t max(int64 n)"},
		Doc:      `Keeps the largest value.`,
	},
	{
		ID: Avg, Names: []string{"avg"}, Min: 1, Max: 1, Group: GroupAggregations,
		Variants: []string{"avg_t avg(int64 n)"},
		Doc:      `Keeps the average of the values (number and total, divided when it is read).`,
	},
	{
		ID: Stats, Names: []string{"stats"}, Min: 1, Max: 1, Group: GroupAggregations,
		Variants: []string{"stats_t stats(int64 n)"},
		Doc:      `Keeps number, average and total of the values.`,
	},
	{
		ID: Hist, Names: []string{"hist"}, Min: 1, Max: 2, Group: GroupAggregations,
		Variants: []string{"hist_t hist(int64 n [, const int k])"},
		Doc: `A histogram whose intervals double: [1], [2, 4), [4, 8) … With k (0 to 5) each power of two is split into 2^k
intervals.`,
	},
	{
		ID: LHist, Names: []string{"lhist"}, Min: 4, Max: 4, Group: GroupAggregations,
		Variants: []string{"lhist_t lhist(int64 n, const int min, const int max, const int step)"},
		Doc: `A histogram with equal intervals of step between min and max, one for what is below and one for what is not below
max. At most 1000 intervals.`,
	},
	{
		ID: Times, Names: []string{"times"}, Min: 1, Max: 1, Group: GroupAggregations,
		Variants: []string{"times_t times(uint64 ns)"},
		Doc: `Keeps durations in nanoseconds: their number, total, mean, percentiles (50, 90, 99) and the longest. Maps of it are
shown as a table, the largest total first. Percentiles are read from a histogram, so they are right to some per cent.`,
	},
	{
		ID: TSeries, Names: []string{"tseries"}, Min: 3, Max: 4, Group: GroupAggregations,
		Variants: []string{"tseries_t tseries(int64 n, const uint64 interval, const int number [, const string agg])"},
		Doc: `A series over time: for each of the last intervals (nanoseconds; write 100ms, 1s) the last value, or with agg the "avg",
"max", "min" or "sum" of its values.`,
	},
}
